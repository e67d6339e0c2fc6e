package main

import (
	"fmt"

	googlesql "github.com/goccy/go-googlesql"
)

// column is one of table.json.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// analyzer knows the table and the parameters.
type analyzer struct {
	catalog *googlesql.SimpleCatalog
	options *googlesql.AnalyzerOptions
	types   *googlesql.TypeFactory
}

func newAnalyzer(columns []column) (*analyzer, error) {
	if err := googlesql.Init(); err != nil {
		return nil, err
	}
	a := &analyzer{}
	var err error
	if a.catalog, err = googlesql.NewSimpleCatalog("dataset", nil); err != nil {
		return nil, err
	}
	language, err := googlesql.NewLanguageOptions()
	if err != nil {
		return nil, err
	}
	if err := language.EnableMaximumLanguageFeatures(); err != nil {
		return nil, err
	}
	// The product that customers use: types as FLOAT64 and INT64, no FLOAT32.
	if err := language.SetProductMode(googlesql.ProductModeProductExternal); err != nil {
		return nil, err
	}
	if err := language.SetSupportsAllStatementKinds(); err != nil {
		return nil, err
	}
	if err := a.catalog.AddBuiltinFunctionsAndTypes(&googlesql.BuiltinFunctionOptions{LanguageOptions: language}); err != nil {
		return nil, err
	}
	if a.options, err = googlesql.NewAnalyzerOptions2(); err != nil {
		return nil, err
	}
	if err := a.options.SetLanguage(language); err != nil {
		return nil, err
	}
	if a.types, err = googlesql.NewTypeFactory(); err != nil {
		return nil, err
	}
	for name, spelled := range parameters {
		t, err := a.typeOf(spelled)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
		if err := a.options.AddQueryParameter(name, t); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", name, err)
		}
	}
	for _, name := range tables {
		if err := a.addTable(name, columns); err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
	}
	if err := a.addTable(foreign, foreignColumns); err != nil {
		return nil, fmt.Errorf("table %s: %w", foreign, err)
	}
	return a, nil
}

// typeOf has the analyzer read a type.
func (a *analyzer) typeOf(spelled string) (googlesql.Googlesql_TypeNode, error) {
	out, err := googlesql.AnalyzeStatement("SELECT CAST(NULL AS "+spelled+") AS x", a.options, a.catalog, a.types)
	if err != nil {
		return nil, err
	}
	statement, err := out.ResolvedStatement()
	if err != nil {
		return nil, err
	}
	query, ok := statement.(*googlesql.ResolvedQueryStmt)
	if !ok {
		return nil, fmt.Errorf("%T is no query", statement)
	}
	first, err := query.OutputColumnList2(0)
	if err != nil {
		return nil, err
	}
	resolved, err := first.Column()
	if err != nil {
		return nil, err
	}
	return resolved.Type()
}

func (a *analyzer) addTable(name string, columns []column) error {
	table, err := googlesql.NewSimpleTable(name, 0)
	if err != nil {
		return err
	}
	for _, c := range columns {
		t, err := a.typeOf(c.Type)
		if err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
		made, err := googlesql.NewSimpleColumn(name, c.Name, t, false, true)
		if err != nil {
			return err
		}
		if err := table.AddColumn2(made, false); err != nil {
			return err
		}
	}
	return a.catalog.AddTable(table)
}

// check analyzes one statement.
func (a *analyzer) check(text string) error {
	_, err := googlesql.AnalyzeStatement(text, a.options, a.catalog, a.types)
	return err
}
