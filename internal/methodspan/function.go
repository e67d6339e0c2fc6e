package methodspan

import "strings"

// Function is the parsed name of a method. Signature distinguishes overloads and is
// empty in languages without them.
type Function struct {
	Class     string
	Method    string
	Signature string
}

// Full returns the normal form `class.method`, which callers and stacks use.
func (f Function) Full() string {
	switch {
	case f.Class == "":
		return f.Method
	case f.Method == "":
		return f.Class
	}
	return f.Class + "." + f.Method
}

// ParseFunction splits a fully qualified function name as SDKs write it:
//
//	Go      shop/cart.(*Cart).Total      shop/cart.Cart      Total
//	        shop/cart.Sum[...]           shop/cart           Sum
//	        shop/cart.Run.func1.2        shop/cart           Run.func1.2
//	Java    com.shop.Cart.total(int)     com.shop.Cart       total   (int)
//	        com/shop/Cart.total          com.shop.Cart       total
//	Node    Cart.total                   Cart                total
//	        new Cart                     Cart                new
//	        async Cart.total [as sum]    Cart                total
//	Python  shop.cart.Cart.total         shop.cart.Cart      total
//	        shop.f.<locals>.<lambda>     shop.f              <locals>.<lambda>
//	PHP, C++, Rust  a::b::c              a::b                c
//	Ruby    Cart#total                   Cart                total
//
// A name without a separator is a method without a class. A name in no known form is
// returned as the method.
func ParseFunction(name string) Function {
	if i := strings.LastIndexByte(name, '/'); i >= 0 && isGoName(name[i+1:]) {
		return parseGo(name, i+1)
	}
	if strings.Contains(name, ".(*") || strings.Contains(name, "[...]") {
		return parseGo(name, 0)
	}
	name, signature := cutSignature(name)
	name = stripNode(name)
	if rest, ok := strings.CutPrefix(name, "new "); ok && rest != "" {
		return Function{Class: rest, Method: "new", Signature: signature}
	}
	if strings.IndexByte(name, '/') >= 0 && strings.IndexByte(name, '.') >= 0 {
		name = strings.ReplaceAll(name, "/", ".") // the JVM's internal form
	}
	class, method := cutMethod(name)
	return Function{Class: class, Method: method, Signature: signature}
}

// isGoName reports whether s, the part of a name after its last slash, can be a Go symbol
// `package.name`. The JVM's form `Cart.total` starts with a capital, which Go packages by
// custom do not, and has no receiver.
func isGoName(s string) bool {
	if s == "" || strings.IndexByte(s, '.') <= 0 {
		return false
	}
	if strings.Contains(s, ".(") || strings.IndexByte(s, '[') >= 0 {
		return true
	}
	return s[0] < 'A' || s[0] > 'Z'
}

// parseGo splits a Go symbol; from is where its last path element starts.
func parseGo(name string, from int) Function {
	dot := strings.IndexByte(name[from:], '.')
	if dot < 0 {
		return Function{Method: name}
	}
	pkg := strings.ReplaceAll(name[:from+dot], "%2e", ".")
	rest := stripBrackets(name[from+dot+1:])
	if strings.HasPrefix(rest, "(") {
		if end := strings.IndexByte(rest, ')'); end > 0 {
			receiver := strings.TrimPrefix(rest[1:end], "*")
			return Function{Class: pkg + "." + receiver, Method: strings.TrimPrefix(rest[end+1:], ".")}
		}
	}
	receiver, method, ok := strings.Cut(rest, ".")
	// `Run.func1` is a closure in the function Run, not the method func1 of a
	// type Run: func1 is a name that the compiler makes.
	if !ok || isClosure(method) {
		return Function{Class: pkg, Method: rest}
	}
	return Function{Class: pkg + "." + receiver, Method: method}
}

func isClosure(s string) bool {
	for _, prefix := range []string{"func", "gowrap", "deferwrap"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return s != "" && s[0] >= '0' && s[0] <= '9'
}

// stripBrackets removes type arguments, which the runtime prints as `[...]`.
func stripBrackets(s string) string {
	if strings.IndexByte(s, '[') < 0 {
		return s
	}
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '[':
			depth++
		case s[i] == ']' && depth > 0:
			depth--
		case depth == 0:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// cutSignature splits a parameter list off the end of a name.
func cutSignature(name string) (rest, signature string) {
	if !strings.HasSuffix(name, ")") {
		return name, ""
	}
	if i := strings.IndexByte(name, '('); i > 0 {
		return strings.TrimSpace(name[:i]), name[i:]
	}
	return name, ""
}

// stripNode removes the additions of V8 to names in stack frames.
func stripNode(name string) string {
	name = strings.TrimPrefix(name, "async ")
	if i := strings.Index(name, " [as "); i > 0 && strings.HasSuffix(name, "]") {
		name = name[:i]
	}
	return name
}

// cutMethod splits at the last separator that leaves both sides non-empty.
func cutMethod(name string) (class, method string) {
	if i := strings.Index(name, ".<locals>."); i > 0 {
		return name[:i], name[i+1:]
	}
	at, width := -1, 0
	if i := strings.LastIndexByte(name, '.'); i > 0 && i < len(name)-1 {
		at, width = i, 1
	}
	if i := strings.LastIndex(name, "::"); i > at && i > 0 && i < len(name)-2 {
		at, width = i, 2
	}
	if i := strings.LastIndexByte(name, '#'); i > at && i > 0 && i < len(name)-1 {
		at, width = i, 1
	}
	if at < 0 {
		return "", name
	}
	return name[:at], name[at+width:]
}
