// Package empty has an empty function of C.
package empty

// static void empty(void) {}
import "C"

func call() { C.empty() }
