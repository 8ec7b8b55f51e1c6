// CV32E40X with its CLIC, and the part of that which is outside of the core.
#define CLIC
#include "cv32e40x.cpp"
