// Package coroutines finds out whether the program can use Go's coroutines, iter.Pull and iter.Pull2,
// by searching the binary for the runtime functions that implement them.
//
// Its invariant: it reports none only if it has seen the whole runtime and found none. In any case of
// doubt it reports that coroutines are possible.
package coroutines

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// Possible returns the reason why the program can use coroutines, or "" if it cannot. The search runs
// once and takes half a millisecond.
var Possible = sync.OnceValue(func() string { return possible(bottomOfStack()) })

const (
	pulls   = "the program contains iter.Pull"
	plugins = "the program can open plugins, which may contain iter.Pull"
	strange = "whether the program contains iter.Pull cannot be found out"
)

// landmarks are functions from several files of the runtime that are in every program with this
// package. A walk that misses one of them has not seen the whole runtime.
var landmarks = []any{runtime.Callers, runtime.FuncForPC, runtime.GC, runtime.LockOSThread, runtime.Stack}

// possible walks through the program's functions, from the one at pc down to the lowest address. The
// linker places the imports of a package before it, and within a package assembly after Go. So below
// runtime.goexit, which is assembly, are the Go functions of the runtime and its imports, and nothing
// of the program, however large it is.
func possible(pc uintptr) string {
	missing := map[uintptr]bool{}
	for _, f := range landmarks {
		missing[reflect.ValueOf(f).Pointer()] = true
	}
	why := ""
	for {
		f := runtime.FuncForPC(pc)
		if f == nil {
			break // below the lowest function
		}
		entry := f.Entry()
		if entry == 0 || entry > pc {
			break
		}
		delete(missing, entry)
		switch name := f.Name(); {
		case ofRuntime(name) && strings.Contains(name, "coro"): // newcoro, coroswitch and their callees
			return pulls
		case name == "plugin.lastmoduleinit": // part of the runtime, by its position
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

// bottomOfStack returns an address in runtime.goexit, the return address of every goroutine.
func bottomOfStack() uintptr {
	bottom := make(chan uintptr)
	go func() {
		var pcs [16]uintptr
		n := runtime.Callers(0, pcs[:]) // Callers itself, this function and goexit
		bottom <- pcs[max(n, 1)-1]
	}()
	return <-bottom
}
