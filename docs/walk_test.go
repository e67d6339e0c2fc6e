package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"testing"
)

// TestArchitecturePage_NamesExist checks that every file and name on docs/background/architecture.md exists.
func TestArchitecturePage_NamesExist(t *testing.T) {
	steps := regexp.MustCompile("`([\\w/]+\\.go)` `([\\w.]+)`").FindAllStringSubmatch(pages(t)["docs/background/architecture.md"], -1)
	if len(steps) < 20 {
		t.Errorf("the page has %d steps of the form `file.go` `Name`", len(steps))
	}
	for _, step := range steps {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, step[1]), nil, 0)
		if err != nil {
			t.Error(err)
		} else if !declared(file)[step[2]] {
			t.Errorf("%s declares no %s", step[1], step[2])
		}
	}
}

// declared returns the names of types and functions, and of methods as Type.Method.
func declared(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				of := d.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				name = of.(*ast.Ident).Name + "." + name
			}
			names[name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok {
					names[typ.Name.Name] = true
				}
			}
		}
	}
	return names
}
