package calls

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Measured(m.Run)) }

func TestCalls(*testing.T) { Make(300) }
