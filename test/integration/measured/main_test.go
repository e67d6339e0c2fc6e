package main

import (
	"os"
	"testing"

	"github.com/corehour/corehour/test/integration/measured/work"
)

func TestMain(m *testing.M) { os.Exit(work.Measured(m.Run)) }

func TestCalls(*testing.T) { work.Calls(500) }
