// Package coroutines finds out whether the program may use Go's coroutines, iter.Pull
// and iter.Pull2, by whether the linker left the runtime's functions for them in it.
//
// Its invariant: it says that there are none only if it has seen the whole runtime and
// none of them. Whatever it does not understand is a reason to take them for possible.
package coroutines

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// Possible says why the program may use coroutines, or "" if it does not. It looks
// once, which takes half a millisecond.
var Possible = sync.OnceValue(func() string { return possible(bottomOfStack()) })

const (
	pulls   = "the program contains iter.Pull"
	plugins = "the program can open plugins, which may contain iter.Pull"
	strange = "whether the program contains iter.Pull cannot be found out"
)

// landmarks are functions of the runtime, from several of its files, that every program
// has that gets here. A walk that does not come by all of them has not seen the runtime.
var landmarks = []any{runtime.Callers, runtime.FuncForPC, runtime.GC, runtime.LockOSThread, runtime.Stack}

// possible walks down the program's functions, from the one at pc to the lowest. The
// linker lays out what a package imports before it, and within a package assembly after
// Go: from runtime.goexit, in assembly, down there is what is written in Go of the
// runtime and all that it imports, and nothing of the program, however large.
func possible(pc uintptr) string {
	missing := map[uintptr]bool{}
	for _, f := range landmarks {
		missing[reflect.ValueOf(f).Pointer()] = true
	}
	why := ""
	for {
		f := runtime.FuncForPC(pc)
		if f == nil {
			break // below the lowest
		}
		entry := f.Entry()
		if entry == 0 || entry > pc {
			break
		}
		delete(missing, entry)
		switch name := f.Name(); {
		case ofRuntime(name) && strings.Contains(name, "coro"): // newcoro, coroswitch and what they call
			return pulls
		case name == "plugin.lastmoduleinit": // of the runtime, by its place
			why = plugins
		}
		pc = entry - 1 // in the next lower function
	}
	if len(missing) > 0 {
		return strange
	}
	return why
}

func ofRuntime(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/")
}

// bottomOfStack returns an address in runtime.goexit, which every goroutine returns to.
func bottomOfStack() uintptr {
	bottom := make(chan uintptr)
	go func() {
		var pcs [16]uintptr
		n := runtime.Callers(0, pcs[:]) // itself, this function and goexit
		bottom <- pcs[max(n, 1)-1]
	}()
	return <-bottom
}
