// Command exectarget is a program, with tests in two packages, that `corehour exec` runs.
//
//	exectarget 1000     copies its input, makes 1000 calls and ends with exit code 3
//	exectarget 1000 5   makes 1000 calls after the start and after each of 5 signals, and ends with 7
//	exectarget 0 0 300  makes 300 calls that work and, alternating, 300 that do the same work and wait
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/corehour/corehour/integration/program/exectarget/calls"
)

func main() { os.Exit(calls.Measured(program)) }

func program() int {
	var numbers []int
	for _, arg := range os.Args[1:] {
		n, err := strconv.Atoi(arg)
		if err != nil {
			log.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	calls.Make(numbers[0])
	if len(numbers) == 3 {
		calls.WorkAndWait(numbers[2])
		return 0
	}
	if len(numbers) == 1 {
		if _, err := io.Copy(os.Stdout, os.Stdin); err != nil {
			log.Fatal(err)
		}
		return 3
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	fmt.Println("ready")
	for range numbers[1] {
		fmt.Println(<-caught)
		calls.Make(numbers[0])
	}
	return 7
}
