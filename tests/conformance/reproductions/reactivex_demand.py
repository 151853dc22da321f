import threading

import reactivex
from reactivex.scheduler import NewThreadScheduler

received, completed = [], threading.Event()
reactivex.range(3).subscribe(received.append, on_completed=completed.set, scheduler=NewThreadScheduler())
completed.wait(10)
print(received)  # nothing was requested
