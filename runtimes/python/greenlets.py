"""greenlet: stackful switches, which copy parts of the C stack to the heap and back."""

import sys

sys.path.insert(0, "site")

import greenlet

from protocol import Settings, course, leave, resident
from tasks import finish


def switch(settings):
    """Greenlet i switches to greenlet i + 1; the one that measures is the first."""

    def body(task):
        greenlets[0].switch()
        following = greenlets[(task + 1) % settings.tasks]
        while True:
            resumes[task] += 1
            following.switch()

    before = resident()
    resumes = [0] * settings.tasks
    greenlets = [greenlet.getcurrent()]
    # All are started from here: a greenlet inherits the call depth of the one that starts it, up to the limit.
    for task in range(1, settings.tasks):
        greenlets.append(greenlet.greenlet(body))
        greenlets[task].switch(task)
    versions = [f"greenlet {greenlet.__version__}"]
    for rounds in course(settings, before, lambda: sum(resumes), versions=versions):
        for _ in range(rounds):
            greenlets[1].switch()
            resumes[0] += 1
    finish()


if __name__ == "__main__":
    asked = Settings(sys.argv[1:])
    if asked.mechanism != "switch":
        leave(f"fail unknown mechanism: {asked.mechanism}")
    switch(asked)
