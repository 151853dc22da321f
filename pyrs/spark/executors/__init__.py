"""On the executors: ``operators`` has the functions of users, ``tasks`` the work of a task of them."""
