/* Rows of a block: a count, then for each row the offset of its bytes. */
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

static uint32_t number (const unsigned char *at)
{
    uint32_t value;
    memcpy (&value, at, sizeof value);
    return value;
}

static PyObject *decode (PyObject *self, PyObject *args)
{
    const char *block;
    Py_ssize_t length;
    if (!PyArg_ParseTuple (args, "y#", &block, &length))
        return NULL;
    const unsigned char *base = (const unsigned char *) block;
    uint32_t rows = number (base + 4);
    PyObject *out = PyList_New (rows);
    for (uint32_t row = 0; out && row < rows; row++) {
        const unsigned char *at = base + number (base + 8 + 4 * row);
        double sum = 0;
        for (int i = 0; i < 32; i++)
            sum += at[i];
        PyList_SetItem (out, row, PyFloat_FromDouble (sum / 32));
    }
    return out;
}

static PyMethodDef methods[] = { { "decode", decode, METH_VARARGS, "means of the rows of a block" },
                                 { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "_rowcodec", NULL, -1, methods, NULL, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit__rowcodec (void)
{
    return PyModule_Create (&module);
}
