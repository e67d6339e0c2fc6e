// Package rulefile reads files of rules in JSON or YAML: the method file, price books, owners,
// silences, thresholds and budgets.
//
//	{"version": 1, "silences": [{"service": "shop", "until": "2026-12-01", "reason": "..."}]}
//
// ParseJSON and ParseYAML return a tree of nodes that know their lines (node.go). A Section
// checks the keys and the types of one object of the tree (section.go). Parse reads a whole
// file that consists of a version and lists of flat entries (list.go).
//
// Its invariant: every entry is checked, a faulty one becomes a configfile.Warning with its
// key and line and is left out, and all others are used.
//
// It knows neither keys nor their meaning; the packages that use it do. The SDK has a parser
// of its own for the method file, because it imports the standard library only; the cases in
// internal/methodfile/testdata keep both equal.
package rulefile
