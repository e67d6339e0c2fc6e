package instrument

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package of the build, in the form of go list.
type pkg struct {
	ImportPath string
	Name       string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Standard   bool
	ForTest    string
	Module     *module

	vendored bool // gets probes only where the method file names it
}

type module struct {
	Path string
	Dir  string
	Main bool
}

// program is the program to build.
type program struct {
	goroot   string
	main     *module  // the module in which the SDK is placed
	packages []*pkg   // that can have probes, by import path
	others   []string // import paths of packages that cannot
	signals  bool     // one of its packages handles signals
	sdk      *pkg     // the program's own SDK, if it has one
}

const sdkPath = "github.com/corehour/corehour/sdk"

// load lists the packages of the build by the go command.
func load(ctx context.Context, c *Command) (*program, error) {
	args := []string{"list"}
	if c.dir != "" {
		args = append(args, "-C", c.dir)
	}
	args = append(args, "-deps", "-e", "-json=ImportPath,Name,Dir,GoFiles,CgoFiles,Imports,Standard,ForTest,Module")
	if c.Verb == "test" {
		args = append(args, "-test")
	}
	args = append(append(args, c.list...), "--")
	list := exec.CommandContext(ctx, "go", append(args, c.patterns...)...)
	if os.Getenv("GOGC") == "" {
		list.Env = append(os.Environ(), "GOGC=400") // a quarter less CPU time for half more memory
	}
	text, err := outputOf(list)
	if err != nil {
		return nil, err
	}
	env, err := output(ctx, inDir(c.dir, "env", "GOROOT", "GOVERSION")...)
	if err != nil {
		return nil, err
	}
	root, release, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
	if version.IsValid(release) && version.Compare(release, oldestGo) < 0 {
		return nil, fmt.Errorf("the go command is %s: probes want %s or newer", release, oldestGo)
	}
	p := &program{goroot: root}
	seen := map[string]bool{}
	var all []*pkg
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		k := new(pkg)
		if err := decoder.Decode(k); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if k.Standard || k.ForTest != "" || seen[k.ImportPath] || strings.HasSuffix(k.ImportPath, ".test") {
			continue
		}
		seen[k.ImportPath] = true
		if k.Module != nil && k.Module.Main && (p.main == nil || k.Module.Path < p.main.Path) {
			p.main = k.Module
		}
		all = append(all, k)
	}
	if p.main == nil {
		return nil, errors.New("no package of a module is built here: corehour go needs a go.mod, in which it places the SDK for the time of the build")
	}
	for _, k := range all {
		p.add(k)
	}
	slices.SortFunc(p.packages, func(a, b *pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	return p, nil
}

func (p *program) add(k *pkg) {
	p.signals = p.signals || slices.Contains(k.Imports, "os/signal")
	switch {
	case k.ImportPath == sdkPath:
		p.sdk = k
	case k.Module == nil || k.Dir == "" || strings.HasPrefix(k.ImportPath, sdkPath+"/"):
	case k.Module.Main:
		p.packages = append(p.packages, k)
	case strings.HasPrefix(k.Dir, filepath.Join(p.main.Dir, "vendor")+string(filepath.Separator)):
		k.vendored = true
		p.packages = append(p.packages, k)
	default:
		p.others = append(p.others, k.ImportPath)
	}
}

// files returns the source files of the package, in order.
func (k *pkg) files() []string {
	all := slices.Concat(k.GoFiles, k.CgoFiles)
	slices.Sort(all)
	for i, name := range all {
		if !filepath.IsAbs(name) {
			all[i] = filepath.Join(k.Dir, name)
		}
	}
	return all
}

func inDir(dir string, args ...string) []string {
	if dir == "" {
		return args
	}
	return slices.Concat(args[:1], []string{"-C", dir}, args[1:])
}

// output runs the go command and returns its output.
func output(ctx context.Context, args ...string) ([]byte, error) {
	return outputOf(exec.CommandContext(ctx, "go", args...))
}

func outputOf(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("the go command is not in PATH: install Go, or add its bin directory to PATH")
		}
		return nil, fmt.Errorf("go %s: %w: %s", cmd.Args[1], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}
