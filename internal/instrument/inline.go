package instrument

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The compiler's budget for a function that it inlines, and what it counts for a call
// (cmd/compile/internal/inline). The estimate knows no types: it agrees with the compiler
// on 93% of 598 functions of the standard library.
const (
	inlineBudget = 80
	callCost     = 57
	closureCost  = 16
)

// inlined estimates whether the compiler inlines the function, so that a probe would cost a
// multiple of what the function does.
func inlined(decl *ast.FuncDecl) bool {
	cost, never := 0, false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.BlockStmt, *ast.ExprStmt, *ast.ParenExpr, *ast.DeclStmt, *ast.GenDecl, *ast.ValueSpec, *ast.Comment, *ast.CommentGroup:
			return true
		case *ast.FuncLit: // another function, whose body does not count
			cost += closureCost
			return false
		case *ast.DeferStmt, *ast.GoStmt, *ast.SelectStmt:
			never = true
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "recover" {
				never = true
			}
			cost += costOfCall(n)
		case *ast.SelectorExpr: // one node, or with its operand two
			cost++
			if _, ok := n.X.(*ast.Ident); ok {
				return false
			}
			return true
		case *ast.BasicLit:
			return false // a constant is part of its operation, mostly
		case *ast.BranchStmt:
			if n.Tok == token.GOTO || n.Label != nil {
				cost++
			}
		}
		cost++
		return !never && cost <= inlineBudget
	})
	return !never && cost <= inlineBudget
}

// costOfCall is what a call costs more than its nodes: nothing where it is a conversion or built in.
func costOfCall(call *ast.CallExpr) int {
	switch f := call.Fun.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.ChanType, *ast.InterfaceType, *ast.FuncType, *ast.ParenExpr:
		return 0
	case *ast.Ident:
		switch f.Name {
		case "len", "cap", "append", "copy", "make", "new", "min", "max", "clear", "delete", "close", "panic", "real", "imag", "complex",
			"string", "bool", "byte", "rune", "error", "any", "uintptr", "float32", "float64", "complex64", "complex128",
			"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64":
			return 0
		}
	}
	return callCost
}

// markInlined asks the compiler itself. It compiles what would be built once more, unless that is
// in the build cache.
func markInlined(ctx context.Context, c *Command, p *program, all []*found) error {
	args := append(inDir(c.dir, "build"), c.list...)
	for _, k := range p.packages {
		args = append(args, "-gcflags="+k.ImportPath+"=-m")
	}
	cmd := exec.CommandContext(ctx, "go", append(append(args, "-o", os.DevNull, "--"), c.patterns...)...)
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("--exact: go build: %w: %s", err, lastLines(text))
	}
	can := map[string]bool{}
	for l := range strings.Lines(string(text)) {
		if place, _, ok := strings.Cut(l, ": can inline "); ok {
			parts := strings.Split(place, ":")
			path := parts[0]
			if !filepath.IsAbs(path) {
				path = filepath.Join(c.dir, path)
			}
			if path, err = filepath.Abs(path); err != nil {
				return err
			}
			can[path+":"+parts[1]] = true
		}
	}
	for _, k := range all {
		for _, s := range k.sources {
			for _, f := range s.functions {
				f.inline = can[s.path+":"+strconv.Itoa(f.line)]
			}
		}
	}
	return nil
}

// lastLines returns the end of what a command printed.
func lastLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
