"""Calls from Python to C or Rust and back: by an extension, by ctypes, by cffi."""

import importlib
import sys
from itertools import repeat

from protocol import course, each, leave, resident

# Made when the program runs, so that no copy of it can be made before.
TEXT = "x" * int("100")

entered = 0


def callee():
    """The function that C calls; it counts."""
    global entered
    entered += 1


def callee_eight(a, b, c, d, e, f, g, h):
    """Counts calls with the right numbers."""
    global entered
    total = a + b + c + d + e + f + g + h
    entered += total == 36
    return total


def callee_text(text):
    """Counts calls with a text of the right length."""
    global entered
    entered += len(text) == 100


def nothing(function):
    """Calls a function without arguments."""

    def run(calls):
        for _ in repeat(None, calls):
            function()

    return run


def eight(function):
    """Calls a function with eight numbers."""

    def run(calls):
        for _ in repeat(None, calls):
            function(1, 2, 3, 4, 5, 6, 7, 8)

    return run


def through_extension(name):
    """A module in C that uses Python's API, or one in Rust with the same functions."""
    extension = importlib.import_module(name)
    extension.hand(TEXT)

    def text(calls):
        function = extension.down_text
        for _ in repeat(None, calls):
            function(TEXT)

    def back(calls):
        function = extension.back
        for _ in repeat(None, calls):
            function(callee)

    return extension.counts, {
        "down": nothing(extension.down),
        "down-released": nothing(extension.down_released),
        "down-8": eight(extension.down_eight),
        "down-text": text,
        "up": lambda calls: extension.up(calls, callee),
        "up-attached": lambda calls: extension.up_attached(calls, callee),
        "up-8": lambda calls: extension.up_eight(calls, callee_eight),
        "up-text": lambda calls: extension.up_text(calls, callee_text, TEXT.encode()),
        "back": back,
    }


def through_ctypes():
    """A shared library without any code for Python."""
    import ctypes

    integers = [ctypes.c_int64] * 8
    simple, of_eight = ctypes.CFUNCTYPE(None), ctypes.CFUNCTYPE(ctypes.c_int64, *integers)
    of_text = ctypes.CFUNCTYPE(None, ctypes.c_char_p)

    def opened(library):
        library.down.restype = None
        library.down_eight.argtypes, library.down_eight.restype = integers, ctypes.c_int64
        library.down_text.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        library.down_text.restype = ctypes.c_size_t
        library.back.argtypes, library.back.restype = [simple], None
        library.up.argtypes, library.up.restype = [ctypes.c_uint64, simple], None
        library.up_eight.argtypes, library.up_eight.restype = [ctypes.c_uint64, of_eight], None
        library.up_text.argtypes = [ctypes.c_uint64, of_text, ctypes.c_char_p]
        library.up_text.restype = None
        return library

    # Python's lock is released before each call of the first, and kept during those of the second.
    released, held = opened(ctypes.CDLL("./callee.so")), opened(ctypes.PyDLL("./callee.so"))
    ctypes.c_void_p.in_dll(released, "handed").value = address(TEXT)
    counted = [ctypes.c_uint64.in_dll(released, name) for name in ("entered", "copied")]
    wrapped, wrapped_eight, wrapped_text = simple(callee), of_eight(callee_eight), of_text(callee_text)

    def text(calls):
        function = released.down_text
        for _ in repeat(None, calls):
            function(TEXT.encode(), 100)

    def back(calls):
        function = released.back
        for _ in repeat(None, calls):
            function(wrapped)

    return lambda: [count.value for count in counted], {
        "down": nothing(released.down),
        "down-held": nothing(held.down),
        "down-8": eight(released.down_eight),
        "down-text": text,
        "up": lambda calls: released.up(calls, wrapped),
        "up-8": lambda calls: released.up_eight(calls, wrapped_eight),
        "up-text": lambda calls: released.up_text(calls, wrapped_text, TEXT.encode()),
        "back": back,
    }


def through_cffi():
    """The same library, with a module that cffi made for it."""
    from cffi_callee import ffi, lib

    lib.handed = ffi.cast("char *", address(TEXT))
    ffi.def_extern("callee")(callee)
    ffi.def_extern("callee_eight")(callee_eight)

    @ffi.def_extern("callee_text")
    def received(text):
        callee_text(ffi.string(text))

    def text(calls):
        function = lib.down_text
        for _ in repeat(None, calls):
            function(TEXT.encode(), 100)

    def back(calls):
        function, wrapped = lib.back, lib.callee
        for _ in repeat(None, calls):
            function(wrapped)

    return lambda: (lib.entered, lib.copied), {
        "down": nothing(lib.down),
        "down-8": eight(lib.down_eight),
        "down-text": text,
        "up": lambda calls: lib.up(calls, lib.callee),
        "up-8": lambda calls: lib.up_eight(calls, lib.callee_eight),
        "up-text": lambda calls: lib.up_text(calls, lib.callee_text, TEXT.encode()),
        "back": back,
    }


def address(text):
    """Where the bytes of an ASCII string of CPython are: at its end, with a zero after them."""
    return id(text) + sys.getsizeof(text) - len(text) - 1


EXTENSIONS = {"cpython": "extension", "pyo3": "pyo3_extension"}
RUNTIMES = {"ctypes": through_ctypes, "cffi": through_cffi}


def measure(settings, counts, mechanisms):
    """The course of one measurement, and what makes its calls."""
    if settings.mechanism not in mechanisms:
        leave(f"fail unknown mechanism: {settings.mechanism}")

    def in_python():
        return entered

    def in_native():
        return counts()[0]

    def in_either():
        return counts()[0] + entered

    # A callback enters both.
    sides = (in_native, in_python) if settings.mechanism == "back" else (in_either, None)
    # Callbacks of ctypes and cffi get bytes, whose copies nobody counts.
    uncounted = settings.runtime in RUNTIMES and settings.mechanism == "up-text"
    copies = None if uncounted else lambda: counts()[1]
    measured = course(settings, resident(), sides[0], copies=copies, other=sides[1], turns=True)
    return measured, mechanisms[settings.mechanism]


def take_turn(measured, call):
    """Makes the calls of a measurement until it is the turn of others."""
    for calls in measured:
        if calls == 0:
            return
        call(calls)


def main(measurements):
    """Warms each measurement up, makes their calls in turns, batch by batch, and lets each print."""
    runtime = measurements[0].runtime
    name = EXTENSIONS.get(runtime)
    counts, mechanisms = through_extension(name) if name else RUNTIMES[runtime]()
    turns = [(settings.batches, measure(settings, counts, mechanisms)) for settings in measurements]
    # The first turn is the warm-up.
    for turn in range(max(batches for batches, _ in turns) + 1):
        for batches, measurement in turns:
            if turn <= batches:
                take_turn(*measurement)
    for _, measurement in turns:
        take_turn(*measurement)


if __name__ == "__main__":
    main(each(sys.argv[1:]))
