package instrument

import (
	"fmt"
	"slices"
	"strings"

	"github.com/corehour/corehour/internal/configfile"
)

// Command is a command line of the go command that builds: `build -o shop ./cmd/shop`.
type Command struct {
	Verb string
	Args []string // after the verb

	dir      string   // -C
	list     []string // flags that select the built files
	patterns []string // built packages
	vets     bool     // the command line sets -vet itself
}

// Verbs are the building verbs of the go command.
var Verbs = []string{"build", "run", "test", "install"}

var (
	valueFlags = fields(`C p asmflags buildmode compiler covermode coverpkg gccgoflags gcflags installsuffix ldflags mod
		modfile overlay pgo pkgdir tags toolexec o exec`)
	testValueFlags = fields(`bench benchtime blockprofile blockprofilerate count coverprofile cpu cpuprofile fuzz
		fuzzcachedir fuzztime fuzzminimizetime list memprofile memprofilerate mutexprofile mutexprofilefraction
		outputdir parallel run shuffle skip timeout trace vet`)
	listFlags  = fields("mod modfile tags race msan asan compiler")
	coverFlags = fields("cover covermode coverpkg coverprofile")
)

func fields(text string) []string { return strings.Fields(text) }

// ParseCommand parses the arguments after `corehour go` and its own flags. goflags are the flags of
// GOFLAGS.
func ParseCommand(args []string, goflags string) (*Command, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("want a verb of the go command after the flags: %s", strings.Join(Verbs, ", "))
	}
	c := &Command{Verb: args[0], Args: args[1:]}
	if !slices.Contains(Verbs, c.Verb) {
		return nil, fmt.Errorf("%q builds nothing: %s", c.Verb, configfile.DidYouMean(c.Verb, Verbs))
	}
	for _, flag := range strings.Fields(goflags) {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if err := refused(name, "GOFLAGS: "); err != nil {
			return nil, err
		}
	}
	rest := c.Args
	for len(rest) > 0 {
		arg := rest[0]
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			if rest = c.addPattern(rest); rest == nil {
				break
			}
			continue
		}
		rest = rest[1:]
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		name = strings.TrimPrefix(name, "test.")
		if name == "args" && c.Verb == "test" {
			break
		}
		if err := refused(name, ""); err != nil {
			return nil, err
		}
		takes := slices.Contains(valueFlags, name) || c.Verb == "test" && slices.Contains(testValueFlags, name)
		if takes && !given {
			if len(rest) == 0 {
				return nil, fmt.Errorf("go %s -%s: want a value after it", c.Verb, name)
			}
			value, rest = rest[0], rest[1:]
		}
		switch {
		case name == "C":
			c.dir = value
		case name == "vet":
			c.vets = true
		case slices.Contains(listFlags, name) && takes:
			c.list = append(c.list, "-"+name+"="+value)
		case slices.Contains(listFlags, name):
			c.list = append(c.list, arg)
		}
	}
	if len(c.patterns) == 0 && c.Verb != "run" {
		c.patterns = []string{"."}
	}
	for _, p := range c.patterns {
		if strings.Contains(p, "@") {
			return nil, fmt.Errorf("go %s %s: a package of another module has no source tree here: clone it, and build it there", c.Verb, p)
		}
	}
	return c, nil
}

// addPattern adds the packages or files at the start of args and returns the remaining arguments; nil =
// no argument concerns the build.
func (c *Command) addPattern(args []string) []string {
	if c.Verb != "run" {
		c.patterns = append(c.patterns, args[0])
		return args[1:]
	}
	n := 0
	for n < len(args) && strings.HasSuffix(args[n], ".go") {
		n++
	}
	c.patterns = args[:max(1, n)]
	return nil
}

// refused returns an error if the build cannot have the flag.
func refused(name, where string) error {
	switch {
	case name == "overlay" || name == "toolexec":
		return fmt.Errorf("%s-%s cannot be combined with `corehour go`, which builds by an overlay of its own: leave it out", where, name)
	case slices.Contains(coverFlags, name):
		return fmt.Errorf("%s-%s cannot be combined with `corehour go`, as the go command does not count coverage of overlaid files: measure coverage with the go command alone", where, name)
	}
	return nil
}

// buildArgs returns the arguments of the go command with an overlay.
func (c *Command) buildArgs(overlay string) []string {
	args := []string{c.Verb}
	rest := c.Args
	if c.dir != "" && len(rest) > 0 { // the go command wants -C first
		name, _, given := strings.Cut(strings.TrimLeft(rest[0], "-"), "=")
		if name == "C" {
			n := 2
			if given {
				n = 1
			}
			args, rest = append(args, rest[:n]...), rest[n:]
		}
	}
	args = append(args, "-overlay="+overlay)
	if c.Verb == "test" && !c.vets {
		args = append(args, "-vet=off") // vet would check the changed files instead of the source
	}
	return append(args, rest...)
}
