//go:build ffi

// Command go with the tag ffi measures calls from Go to C and from C to Go.
package main

// #include <stdlib.h>
// #include "border.h"
import "C"

import (
	"os"
	"runtime"
	"strings"
	"unsafe"
)

// entered counts the calls that C made.
var (
	entered uint64
	copied  uint64
	handed  unsafe.Pointer // the text of C
)

//export goUp
func goUp() { entered++ }

//export goUpEight
func goUpEight(a, b, c, d, e, f, g, h int64) int64 {
	entered++
	return a + b + c + d + e + f + g + h
}

//export goUpText
func goUpText(text *C.char, length C.size_t) C.size_t {
	entered++
	own := C.GoStringN(text, C.int(length))
	if address(own) != handed {
		copied++
	}
	return length * C.size_t(boolean(strings.HasSuffix(own, "x")))
}

//export goBack
func goBack() { entered++ }

// address is that of the bytes: the first word of a string. unsafe.StringData needs Go 1.20.
func address(text string) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&text)) }

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

// right counts the results that Go found right; C counts its own.
var right uint64

// calls makes so many calls.
var calls = map[string]func(uint64){
	"down": func(calls uint64) {
		for call := uint64(0); call < calls; call++ {
			C.down()
			right++
		}
	},
	"down-8": func(calls uint64) {
		for call := uint64(0); call < calls; call++ {
			if C.down_eight(1, 2, 3, 4, 5, 6, 7, 8) == 36 {
				right++
			}
		}
	},
	"down-text": func(calls uint64) {
		for call := uint64(0); call < calls; call++ {
			copy := C.CString(text)
			if unsafe.Pointer(copy) != address(text) {
				copied++
			}
			if C.down_text(copy, C.size_t(len(text))) == C.size_t(len(text)) {
				right++
			}
			C.free(unsafe.Pointer(copy))
		}
	},
	"down-pointer": func(calls uint64) {
		for call := uint64(0); call < calls; call++ {
			if C.down_text((*C.char)(address(text)), C.size_t(len(text))) == C.size_t(len(text)) {
				right++
			}
		}
	},
	"up":      func(calls uint64) { C.up(C.uint64_t(calls)) },
	"up-8":    func(calls uint64) { C.up_eight(C.uint64_t(calls)) },
	"up-text": func(calls uint64) { C.up_text(C.uint64_t(calls), (*C.char)(handed), C.size_t(len(text))) },
	"back": func(calls uint64) {
		for call := uint64(0); call < calls; call++ {
			C.back()
			right++
		}
	},
}

// text is made when the program runs, so that no copy of it can be made before.
var text = strings.Repeat("x", 100)

func main() {
	runtime.GOMAXPROCS(1)
	handed = unsafe.Pointer(C.CString(text))
	var courses []*course
	for _, s := range readEach(os.Args[1:]) {
		call, known := calls[s.mechanism]
		if !known {
			leave("fail unknown mechanism: " + s.mechanism)
		}
		b := &border{}
		m := &meter{border: b, note: "GOMAXPROCS=1"}
		courses = append(courses, begin(s, m, resident(), counted(call, b, s.mechanism == "back")))
	}
	takeTurns(courses)
}

// counted makes calls and adds to the counts of their border.
func counted(call func(uint64), b *border, isBack bool) func(uint64) {
	return func(calls uint64) {
		rightBefore, goBefore, cBefore, copiedBefore := right+uint64(C.right), entered, uint64(C.entered), copied
		call(calls)
		if right+uint64(C.right)-rightBefore != calls {
			leave("fail a call returned something else")
		}
		inGo, inC := entered-goBefore, uint64(C.entered)-cBefore
		b.calls += calls
		b.copies += copied - copiedBefore
		// A callback enters C and Go.
		if isBack && inGo != inC {
			leave("fail C and Go counted differently")
		}
		b.entered += inC
		if !isBack {
			b.entered += inGo
		}
	}
}
