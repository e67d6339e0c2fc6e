package callers

import (
	"runtime/debug"
	"strings"
	"sync"
)

// Normal returns a function name as class.method, the stored form. shop/cart.(*Cart).Total and
// shop/cart.Cart.Total become equal, and so do all instances of a generic function.
func Normal(name string) string {
	if strings.Contains(name, "(*") {
		name = strings.ReplaceAll(name, "(*", "")
		name = strings.ReplaceAll(name, ")", "")
	}
	return withoutTypeArguments(name)
}

func withoutTypeArguments(name string) string {
	open := strings.IndexByte(name, '[')
	if open < 0 {
		return name
	}
	var b strings.Builder
	depth := 0
	for _, r := range name {
		switch {
		case r == '[':
			depth++
		case r == ']' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// runtimeName converts the runtime's name of a function to the normal form. The runtime calls every
// program's package "main" and escapes dots in the last element of an import path.
func runtimeName(name string) string {
	name = strings.ReplaceAll(name, "%2e", ".")
	if rest, ok := strings.CutPrefix(name, "main."); ok {
		if path := mainPath(); path != "" {
			name = path + "." + rest
		}
	}
	return Normal(name)
}

var mainPath = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Path
})
