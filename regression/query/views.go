package query

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/corehour/corehour/internal/columns"
	"github.com/corehour/corehour/internal/warehouse/parquet"
)

// viewsOf are statements that define the views <prefix>_rows, with the number of the
// collector whose a row is, and <prefix>_calls, without.
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

// readFiles reads files by the columns of the first where all have the same ones: else the
// engine opens each file for each mention of the table, which takes longer than many statements.
func readFiles(files []parquet.File, paths []string, options ...string) string {
	union := slices.ContainsFunc(files, func(f parquet.File) bool { return f.Schema == 0 || f.Schema != files[0].Schema })
	return "read_parquet(" + strings.Join(append([]string{listOf(paths), "union_by_name = " + strconv.FormatBool(union), "hive_partitioning = false"}, options...), ", ") + ")"
}

func listOf(texts []string) string { return "[" + strings.Join(texts, ", ") + "]" }

// quotedPaths are the only texts in statements that are neither ours nor parameters: views
// take none.
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

// patternsOf are the paths as functions that read files want them: these take them for patterns,
// which others than the file may match.
func patternsOf(files []parquet.File) ([]string, error) {
	paths, err := quotedPaths(files)
	for i := range paths {
		paths[i] = asPattern.Replace(paths[i])
	}
	return paths, err
}

var asPattern = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")
