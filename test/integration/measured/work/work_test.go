package work

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Measured(m.Run)) }

func TestCalls(*testing.T) { Calls(300) }
