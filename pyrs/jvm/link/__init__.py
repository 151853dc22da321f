"""The link: frames, streams, and the connection that carries them."""
