package main

import (
	"os"
	"testing"

	"github.com/corehour/corehour/integration/program/exectarget/calls"
)

func TestMain(m *testing.M) { os.Exit(calls.Measured(m.Run)) }

func TestCalls(*testing.T) { calls.Make(500) }
