package instrument

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/corehour/corehour/internal/methodfile"
)

// scopes maps the functions that an entry with a scope reaches to that entry.
type scopes map[*function]*methodfile.Rule

// reach follows the scopes of a method file. Its notes contain the time that took.
func reach(ctx context.Context, c *Command, p *program, all []*found, file *methodfile.File) (scopes, graph, []string, error) {
	if file == nil {
		return nil, nil, nil, nil
	}
	var notes []string
	reached := scopes{}
	roots := map[*function]*methodfile.Rule{}
	for f := range functionsOf(all) {
		rule, named := file.Lookup(f.normal)
		switch {
		case !named:
		case rule.Scope == methodfile.ScopeLazy && rule.Signed(): // the call graph of the binary contains names only
			notes = append(notes, rule.Reason+" has a signature, with which it is no root of scope lazy: leave it out")
		case rule.Scope == methodfile.ScopeEager, rule.Scope == methodfile.ScopeLazy:
			roots[f] = rule
		case rule.Scope == methodfile.ScopeTotal:
			for other := range functionsOf(all) {
				reached[other] = rule
			}
		}
	}
	if len(roots) == 0 {
		return reached.unnamed(file), nil, notes, nil
	}
	begin := time.Now()
	loaded, err := loadCode(ctx, c, p)
	if err != nil {
		return nil, nil, nil, err
	}
	loading := time.Since(begin)
	begin = time.Now()
	calls, edges := reached.follow(vta.CallGraph(ssautil.AllFunctions(loaded), nil), loaded.Fset, all, roots)
	note := fmt.Sprintf("scope: %d functions reached from %d, by %d calls; loaded in %.1f s, followed in %.1f s",
		len(reached), len(roots), edges, loading.Seconds(), time.Since(begin).Seconds())
	return reached.unnamed(file), calls, append(notes, note), nil
}

// unnamed removes functions with an entry of their own.
func (s scopes) unnamed(file *methodfile.File) scopes {
	maps.DeleteFunc(s, func(f *function, _ *methodfile.Rule) bool {
		_, named := file.Lookup(f.normal)
		return named
	})
	return s
}

func functionsOf(all []*found) func(yield func(*function) bool) {
	return func(yield func(*function) bool) {
		for _, k := range all {
			for _, s := range k.sources {
				for _, f := range s.functions {
					if !k.pkg.vendored && !yield(f) {
						return
					}
				}
			}
		}
	}
}

// oneList is the longest list of packages for which go/packages runs a single go list. For a longer list
// it runs several at once, each compiling the common imports; these are compiled beforehand.
const oneList = 16_000

// loadCode loads the main module's packages from source, and their imports from compiled export data. So
// a call through code of other modules is not seen.
func loadCode(ctx context.Context, c *Command, p *program) (*ssa.Program, error) {
	var paths []string
	for _, k := range p.packages {
		if !k.vendored {
			paths = append(paths, k.ImportPath)
		}
	}
	if len(strings.Join(paths, " ")) > oneList {
		if _, err := output(ctx, slices.Concat(inDir(c.dir, "list", "-export", "-deps", "-e", "-f", ""), c.list, []string{"--"}, c.patterns)...); err != nil {
			return nil, fmt.Errorf("scope: %w", err)
		}
	}
	list, err := packages.Load(&packages.Config{
		Context: ctx, Dir: c.dir, BuildFlags: c.list,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedExportFile | packages.NeedModule,
	}, paths...)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	for _, k := range list {
		if len(k.Errors) > 0 {
			return nil, fmt.Errorf("scope: %w: build it plainly first", k.Errors[0])
		}
	}
	if err := ctx.Err(); err != nil || len(list) < len(paths) { // Load does not report a killed go list
		return nil, fmt.Errorf("scope: the go command listed %d packages of %d: %w", len(list), len(paths), cmp.Or(err, errors.New("it has ended early")))
	}
	code, _ := ssautil.Packages(list, ssa.InstantiateGenerics)
	code.Build()
	for _, k := range list {
		dropSyntax(k)
	}
	runtime.GC() // the heap limit follows from the memory in use now
	return code, nil
}

// dropSyntax releases the parts of a package's source that are no longer needed: a third of the memory.
// Generic functions stay, because instances are built later.
func dropSyntax(k *packages.Package) {
	var bodies []**ast.BlockStmt
	generic := false
	for _, file := range k.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				bodies = append(bodies, &n.Body)
				signature, ok := k.TypesInfo.Defs[n.Name].Type().(*types.Signature)
				generic = generic || !ok || signature.TypeParams() != nil || signature.RecvTypeParams() != nil
			case *ast.FuncLit:
				bodies = append(bodies, &n.Body)
			}
			return true
		})
	}
	if generic {
		return
	}
	for _, body := range bodies {
		*body = nil
	}
	*k.TypesInfo = types.Info{}
}

// follow adds all functions reachable from the roots, and returns their call graph and the number of
// calls.
func (s scopes) follow(program *callgraph.Graph, set *token.FileSet, all []*found, roots map[*function]*methodfile.Rule) (calls graph, edges int) {
	at := map[string]*function{}
	for _, k := range all {
		for _, src := range k.sources {
			for _, f := range src.functions {
				at[fmt.Sprint(src.path, ":", f.line)] = f
			}
		}
	}
	declared := func(fn *ssa.Function) *function {
		if origin := fn.Origin(); origin != nil {
			fn = origin
		}
		if fn.Syntax() == nil || fn.Parent() != nil {
			return nil
		}
		for _, adjusted := range []bool{false, true} { // a file generated by cgo records its original position
			place := set.PositionFor(fn.Syntax().Pos(), adjusted)
			if f := at[fmt.Sprint(place.Filename, ":", place.Line)]; f != nil {
				return f
			}
		}
		return nil
	}
	calls = graph{}
	var visit func(n *callgraph.Node, rule *methodfile.Rule)
	visit = func(n *callgraph.Node, rule *methodfile.Rule) {
		if calls[n] != nil {
			return
		}
		at := &place{function: declared(n.Func)}
		calls[n] = at
		if at.function != nil && s[at.function] == nil {
			s[at.function] = rule
		}
		for _, e := range n.Out {
			edges++
			at.calls = append(at.calls, e.Callee)
		}
		for _, inner := range n.Func.AnonFuncs { // it can be passed to code of other modules
			if node := program.Nodes[inner]; node != nil {
				at.calls = append(at.calls, node)
			}
		}
		for _, callee := range at.calls {
			visit(callee, rule)
		}
	}
	var begin []*callgraph.Node
	rules := map[*callgraph.Node]*methodfile.Rule{}
	for fn, n := range program.Nodes {
		if fn == nil {
			continue
		}
		if f := declared(fn); f != nil && roots[f] != nil {
			begin, rules[n] = append(begin, n), roots[f]
		}
	}
	slices.SortFunc(begin, func(a, b *callgraph.Node) int { // the order of roots must be deterministic
		return cmp.Or(strings.Compare(rules[a].Scope, rules[b].Scope), rules[a].Index-rules[b].Index) // eager before lazy
	})
	for _, n := range begin {
		visit(n, rules[n])
	}
	return calls, edges
}

// expanded returns the method file with an additional entry for each function that a scope reaches, copied
// from the entry of its root. Functions that a lazy scope
// reaches get no entry: the SDK finds them in the call graph at run time.
func (s scopes) expanded(text string, all []*found) (string, error) {
	if len(s) == 0 {
		return text, nil
	}
	var file map[string]json.RawMessage
	var entries []json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(text), &file), json.Unmarshal(file["methods"], &entries)); err != nil {
		return "", err
	}
	for f := range functionsOf(all) {
		rule := s[f]
		if rule == nil || f.index < 0 || rule.Scope == methodfile.ScopeLazy {
			continue
		}
		var entry map[string]any
		if err := json.Unmarshal(entries[rule.Index], &entry); err != nil {
			return "", err
		}
		for _, key := range []string{"match", "signature", "scope"} {
			delete(entry, key)
		}
		entry["class"], entry["method"] = f.normal.Class, f.normal.Method
		added, err := json.Marshal(entry)
		if err != nil {
			return "", err
		}
		entries = append(entries, added)
	}
	methods, err := json.Marshal(entries)
	if err != nil {
		return "", err
	}
	file["methods"] = methods
	out, err := json.Marshal(file)
	return string(out), err
}
