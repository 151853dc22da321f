import reactivex

received = []
subscription = reactivex.from_iterable(range(3)).subscribe(received.append)
subscription.dispose()
print(received)  # subscribe has returned after the last element
