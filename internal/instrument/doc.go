// Package instrument builds Go programs with a probe in each function, without changing their source:
// `corehour go build` and similar commands.
//
//	Command (command.go)  what was asked of the go command
//	load    (packages.go) its packages, from go list
//	find    (functions.go) their functions, and which of them cannot have a probe
//	reach   (scope.go)    which of them an entry's scope reaches by calls
//	choose  (choice.go)   which get one, by the method file, or that of a task (task.go)
//	graph   (graph.go)    what calls what among those that a scope reaches
//	insert  (insert.go)   one statement after a function's opening brace, on the same line
//	overlay (overlay.go)  the changed files, the tables of probes and the SDK, by -overlay
//	Run     (run.go)      all of it, then the go command
//
// Its invariants: a file that compiled before still compiles, with every line at its place. The source
// tree and go.mod are never written. A function that cannot have a probe is skipped with a reason, and
// does not affect others. The same input gives the same binary.
//
// It does not measure: probes are the SDK's, which the binary carries (sdk.zip).
package instrument
