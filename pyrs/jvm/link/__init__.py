"""The link: frames, streams, and the socket under them."""
