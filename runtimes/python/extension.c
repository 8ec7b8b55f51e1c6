// An extension of CPython: what Python calls through its C API, and what calls Python.

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "callee.c"

static PyObject *module_down(PyObject *module, PyObject *nothing) {
    down();
    Py_RETURN_NONE;
}

static PyObject *module_down_released(PyObject *module, PyObject *nothing) {
    Py_BEGIN_ALLOW_THREADS
    down();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyObject *module_down_eight(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    if (count != 8) return PyErr_Format(PyExc_TypeError, "eight numbers, not %zd", count);
    int64_t of[8];
    for (int at = 0; at < 8; at++) of[at] = PyLong_AsLongLong(arguments[at]);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromLongLong(down_eight(of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7]));
}

static PyObject *module_down_text(PyObject *module, PyObject *argument) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(argument, &length);
    return text == NULL ? NULL : PyLong_FromSize_t(down_text(text, length));
}

static PyObject *module_back(PyObject *module, PyObject *callee) {
    entered++;
    return PyObject_CallNoArgs(callee);
}

// The loops that call Python so many times.

static PyObject *module_up(PyObject *module, PyObject *arguments) {
    unsigned long long calls;
    PyObject *callee;
    if (!PyArg_ParseTuple(arguments, "KO", &calls, &callee)) return NULL;
    while (calls-- > 0) {
        PyObject *result = PyObject_CallNoArgs(callee);
        if (result == NULL) return NULL;
        Py_DECREF(result);
    }
    Py_RETURN_NONE;
}

// Each call takes the lock and the state of its thread, as one from a thread that Python did not make.
static PyObject *module_up_attached(PyObject *module, PyObject *arguments) {
    unsigned long long calls;
    PyObject *callee;
    if (!PyArg_ParseTuple(arguments, "KO", &calls, &callee)) return NULL;
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS
    while (calls-- > 0 && !failed) {
        PyGILState_STATE state = PyGILState_Ensure();
        PyObject *result = PyObject_CallNoArgs(callee);
        failed = result == NULL;
        Py_XDECREF(result);
        PyGILState_Release(state);
    }
    Py_END_ALLOW_THREADS
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *module_up_eight(PyObject *module, PyObject *arguments) {
    unsigned long long calls;
    PyObject *callee;
    if (!PyArg_ParseTuple(arguments, "KO", &calls, &callee)) return NULL;
    while (calls-- > 0) {
        PyObject *of[8];
        for (int at = 0; at < 8; at++) of[at] = PyLong_FromLongLong(at + 1);
        PyObject *result = PyObject_Vectorcall(callee, of, 8, NULL);
        for (int at = 0; at < 8; at++) Py_DECREF(of[at]);
        if (result == NULL) return NULL;
        Py_DECREF(result);
    }
    Py_RETURN_NONE;
}

static PyObject *module_up_text(PyObject *module, PyObject *arguments) {
    unsigned long long calls;
    PyObject *callee;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "KOy#", &calls, &callee, &text, &length)) return NULL;
    while (calls-- > 0) {
        PyObject *own = PyUnicode_FromStringAndSize(text, length);
        if (own == NULL) return NULL;
        copied += PyUnicode_DATA(own) != text;
        PyObject *result = PyObject_CallOneArg(callee, own);
        Py_DECREF(own);
        if (result == NULL) return NULL;
        Py_DECREF(result);
    }
    Py_RETURN_NONE;
}

static PyObject *module_hand(PyObject *module, PyObject *text) {
    handed = PyUnicode_DATA(text);
    Py_RETURN_NONE;
}

static PyObject *module_counts(PyObject *module, PyObject *nothing) {
    return Py_BuildValue("KK", (unsigned long long)entered, (unsigned long long)copied);
}

static PyMethodDef methods[] = {
    {"down", module_down, METH_NOARGS, NULL},
    {"down_released", module_down_released, METH_NOARGS, NULL},
    {"down_eight", (PyCFunction)(void (*)(void))module_down_eight, METH_FASTCALL, NULL},
    {"down_text", module_down_text, METH_O, NULL},
    {"back", module_back, METH_O, NULL},
    {"up", module_up, METH_VARARGS, NULL},
    {"up_attached", module_up_attached, METH_VARARGS, NULL},
    {"up_eight", module_up_eight, METH_VARARGS, NULL},
    {"up_text", module_up_text, METH_VARARGS, NULL},
    {"hand", module_hand, METH_O, NULL},
    {"counts", module_counts, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods};

PyMODINIT_FUNC PyInit_extension(void) { return PyModule_Create(&definition); }
