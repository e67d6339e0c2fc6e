package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Output is the output of a program that has ended.
type Output struct {
	Line   string // the command line
	Stdout []byte
	Stderr []byte
	Code   int
}

func (o Output) String() string {
	return fmt.Sprintf("%s: exit code %d\n%s%s", o.Line, o.Code, o.Stdout, o.Stderr)
}

// runProgram runs a program to its end. A non-zero exit code is not an error.
func runProgram(ctx context.Context, binary string, args ...string) (Output, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = CleanEnvironment()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o := Output{
		Line:   strings.Join(append([]string{filepath.Base(binary)}, args...), " "),
		Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Code: -1,
	}
	if cmd.ProcessState != nil {
		o.Code = cmd.ProcessState.ExitCode()
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.Exited() {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", o.Line, err)
	}
	return o, err
}
