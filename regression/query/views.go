package query

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// viewsOf returns statements that define the views <prefix>_rows, with the number of the collector that stored
// each row, and <prefix>_calls, without it.
func viewsOf(prefix string, files []parquet.File, b bounds) ([]string, error) {
	paths, err := patternsOf(files)
	if err != nil {
		return nil, err
	}
	numbers := map[string]int{}
	parts := make([]string, len(files))
	for i, f := range files {
		if numbers[f.Prefix] == 0 {
			numbers[f.Prefix] = len(numbers) + 1
		}
		parts[i] = strconv.Itoa(numbers[f.Prefix])
	}
	return []string{
		"CREATE OR REPLACE VIEW " + prefix + "_rows AS " + b.within("SELECT "+columns.Full+", CAST(["+strings.Join(parts, ", ")+"][CAST(file_index AS BIGINT) + 1] AS BIGINT) AS part FROM "+readFiles(files, paths)),
		"CREATE OR REPLACE VIEW " + prefix + "_calls AS SELECT * EXCLUDE (part) FROM " + prefix + "_rows",
	}, nil
}

// readFiles returns a relation of files. If all files have the same columns, it uses those of the first: otherwise
// the engine opens each file for each mention of the table, which takes longer than many statements.
func readFiles(files []parquet.File, paths []string, options ...string) string {
	union := slices.ContainsFunc(files, func(f parquet.File) bool { return f.Schema == 0 || f.Schema != files[0].Schema })
	return "read_parquet(" + strings.Join(append([]string{listOf(paths), "union_by_name = " + strconv.FormatBool(union), "hive_partitioning = false"}, options...), ", ") + ")"
}

func listOf(texts []string) string { return "[" + strings.Join(texts, ", ") + "]" }

// quotedPaths returns the paths as SQL text. They are the only texts in statements that are neither ours nor
// parameters, because views do not support parameters.
func quotedPaths(files []parquet.File) ([]string, error) {
	paths := make([]string, len(files))
	for i, f := range files {
		path, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		paths[i] = quoteText(path)
	}
	return paths, nil
}

// patternsOf returns the paths escaped for functions that read files. These functions take a path as a pattern,
// which could match other files.
func patternsOf(files []parquet.File) ([]string, error) {
	paths, err := quotedPaths(files)
	for i := range paths {
		paths[i] = asPattern.Replace(paths[i])
	}
	return paths, err
}

var asPattern = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")
