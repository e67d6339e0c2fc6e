package groundtruth

import "fmt"

// CodeName returns the name of the i-th method in the form of Go symbols.
func CodeName(i int) string { return fmt.Sprintf("workload/unit%d.(*Worker).Step%d", i%3, i) }

// Name returns the name of the i-th method as class.method.
func Name(i int) string { return fmt.Sprintf("workload/unit%d.Worker.Step%d", i%3, i) }
