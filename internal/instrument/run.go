package instrument

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/corehour/corehour/internal/configfile"
	"github.com/corehour/corehour/internal/methodfile"
)

// Settings are the options of `corehour go` itself.
type Settings struct {
	Methods string   // path of the method file; "" = none
	Task    string   // one of Tasks instead of a method file; "" = none
	Roots   []string // methods, for task part
	DryRun  bool     // print the probes, build nothing
	Diff    bool     // print the changes of files, build nothing
	Exact   bool     // ask the compiler for inlined functions
	Quiet   bool     // print no summary
}

// Run builds, and returns the exit code of the go command. ctx ends only the preparation.
func Run(ctx context.Context, s Settings, args []string, stdout, stderr io.Writer) (int, error) {
	b, err := newPlanned(ctx, s, args, stderr)
	if err != nil {
		return 0, err
	}
	if !s.Quiet {
		b.chosen.summarize(stderr, b.program, b.file)
	}
	switch {
	case s.Diff:
		return 0, b.chosen.printDiff(stdout)
	case s.DryRun:
		return 0, printChoice(stdout, b.all)
	}
	o, err := newOverlay()
	if err != nil {
		return 0, err
	}
	defer func() { _ = o.close() }() // files that remain are no reason to fail
	if err := o.fill(b.program, b.chosen, b.methods, b.calls.table(b.all)); err != nil {
		return 0, err
	}
	overlay, err := o.list()
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return 0, err
	}
	if b.command.Verb == "run" { // the program uses standard error itself
		return build(b.command, overlay, stdout, stderr)
	}
	dir, err := filepath.Abs(b.command.dir)
	if err != nil {
		return 0, err
	}
	named := o.named(stderr, dir)
	code, err := build(b.command, overlay, stdout, named)
	return code, cmp.Or(err, named.Flush())
}

// planned is the planned build.
type planned struct {
	command *Command
	program *program
	all     []*found // of every package
	file    *methodfile.File
	methods string // text of the method file, with the functions that scopes reach
	chosen  *choice
	calls   graph
}

// newPlanned reads the program and selects the functions that get a probe.
func newPlanned(ctx context.Context, s Settings, args []string, stderr io.Writer) (*planned, error) {
	// Reserved and never touched: garbage collection starts only at this heap size, instead of
	// taking a third of the time of parsing.
	reserved := make([]byte, 64<<20)
	goflags, err := output(ctx, "env", "GOFLAGS")
	if err != nil {
		return nil, err
	}
	b := &planned{}
	if b.command, err = ParseCommand(args, string(goflags)); err != nil {
		return nil, err
	}
	text, file, err := readMethods(s, stderr)
	if err != nil {
		return nil, err
	}
	b.file = file
	if b.program, err = load(ctx, b.command); err != nil {
		return nil, err
	}
	if err := b.program.checkSDK(); err != nil {
		return nil, err
	}
	b.all = make([]*found, len(b.program.packages))
	calledIndirectly := newIndirect()
	for i, k := range b.program.packages {
		b.all[i] = find(k, b.command.Verb != "test", calledIndirectly)
	}
	calledIndirectly.mark(b.all)
	var estimated []string
	if s.Exact {
		if estimated, err = markInlined(ctx, b.command, b.program, b.all); err != nil {
			return nil, err
		}
	}
	runtime.KeepAlive(reserved)
	reached, calls, notes, err := reach(ctx, b.command, b.program, b.all, file)
	if err != nil {
		return nil, err
	}
	b.calls = calls
	b.chosen = choose(b.all, file, reached, b.program.others)
	b.chosen.notes = slices.Concat(estimated, notes, b.chosen.notes)
	b.methods, err = reached.expanded(text, b.all)
	return b, err
}

// readMethods returns the text of the method file, or of the task, and its parsed form.
func readMethods(s Settings, stderr io.Writer) (string, *methodfile.File, error) {
	task, err := s.taskFile()
	if err != nil || task == "" && s.Methods == "" {
		return "", nil, err
	}
	text, path := []byte(task), cmp.Or(s.Methods, "--task "+s.Task)
	if s.Methods != "" {
		if text, err = os.ReadFile(path); err != nil {
			return "", nil, fmt.Errorf("--methods: %w", err)
		}
	}
	file, warnings, err := methodfile.Parse(text)
	if err != nil {
		return "", nil, fmt.Errorf("--methods %s: %w", path, err)
	}
	shown, rest := configfile.Shown(warnings)
	for _, w := range shown {
		fmt.Fprintf(stderr, "corehour go: %s: %v\n", path, w)
	}
	if rest > 0 {
		fmt.Fprintf(stderr, "corehour go: %s: and %d more\n", path, rest)
	}
	return string(text), file, nil
}

// checkSDK returns an error if the program has an SDK of its own that does not support these probes.
func (p *program) checkSDK() error {
	if p.sdk == nil {
		return nil
	}
	for _, path := range p.sdk.files() {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte("\nfunc Declare(")) {
			return nil
		}
	}
	return fmt.Errorf("the program imports %s, of a version without compiled-in probes: go get %[1]s@latest", sdkPath)
}

// build runs the go command and waits for it. The go command gets signals of a terminal directly; a
// request to terminate is forwarded.
func build(c *Command, overlay string, stdout, stderr io.Writer) (int, error) {
	cmd := exec.Command("go", c.buildArgs(overlay)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-caught:
				if s != os.Interrupt {
					_ = cmd.Process.Signal(s) // fails if it has ended
				}
			case <-ended:
				return
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return exit.ExitCode(), nil
}

func (c *choice) printDiff(w io.Writer) error {
	for _, k := range c.packages {
		for _, s := range k.sources {
			if !s.changed() {
				continue
			}
			if _, err := w.Write(s.diff(s.path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// printChoice prints a line for each function: probe, or the reason for having none.
func printChoice(w io.Writer, all []*found) error {
	var b bytes.Buffer
	for _, k := range all {
		for _, path := range k.unparsed {
			fmt.Fprintf(&b, "%s: %s\n", path, unparsed)
		}
		for _, s := range k.sources {
			for _, f := range s.functions {
				what := f.reason
				if f.index >= 0 {
					what = "probe"
					if len(k.unlocks) > 0 {
						what = "probe, wall time only: " + k.unlocks[0] + " calls runtime.UnlockOSThread"
					}
				}
				fmt.Fprintf(&b, "%s: %s\n", f.name, what)
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// several returns a number with its noun.
func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// summarize prints the selection, each fault once, and how to switch the probes on.
func (c *choice) summarize(w io.Writer, p *program, file *methodfile.File) {
	fmt.Fprintf(w, "corehour go: probes in %s of %s; %d left to the compiler, which inlines them", several(c.probes, "function"), several(c.probed, "package"), c.left[inlinable])
	delete(c.left, inlinable)
	separator := "; without: "
	for _, reason := range slices.Sorted(maps.Keys(c.left)) {
		fmt.Fprintf(w, "%s%d because %s", separator, c.left[reason], reason)
		separator = ", "
	}
	fmt.Fprintln(w)
	const most = 20
	for i, note := range c.notes {
		if i == most {
			fmt.Fprintf(w, "corehour go: and %d more\n", len(c.notes)-most)
			break
		}
		fmt.Fprintf(w, "corehour go: %s\n", note)
	}
	for _, k := range c.packages {
		if len(k.unlocks) > 0 {
			fmt.Fprintf(w, "corehour go: %s: wall time only, as these call runtime.UnlockOSThread: %s\n", k.pkg.ImportPath, strings.Join(k.unlocks, ", "))
		}
	}
	switch {
	case c.probes == 0:
	case p.sdk != nil:
		fmt.Fprintln(w, "corehour go: the program imports the SDK, and starts it by itself")
	case file == nil:
		fmt.Fprintln(w, "corehour go: probes are off until the program runs with COREHOUR_SAMPLE=0.01, or with a method file in COREHOUR_METHODS")
	}
}
