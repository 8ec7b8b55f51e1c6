"""Ends with status 0 if the header of Python's C API is there."""

import os
import sysconfig

open(os.path.join(sysconfig.get_path("include"), "Python.h"), "rb").close()
