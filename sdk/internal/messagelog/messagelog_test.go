package messagelog

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Remarks that are made up without end are counted, and do not silence the next for
// good.
func TestLog_ContinuesAfterBlockedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer // read between writes
		n := New(&out, time.Minute)
		for i := range 3 * maxLogged {
			n.Logf("message %d", i)
			time.Sleep(2 * time.Second)
			<-n.Write()
		}
		time.Sleep(time.Hour)
		n.Logf("another")
		<-n.Write()
		if !strings.Contains(out.String(), "corehour: another\n") {
			t.Error("after many messages the next is not logged")
		}
		if lines := strings.Count(out.String(), "\n"); lines > 4*maxLogged {
			t.Errorf("%d lines", lines)
		}
	})
}

func TestLog_RareAndPrintable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		n := New(&out, time.Minute)
		writes := 0
		for i := range 600 {
			n.Logf("fault %d of \x1b[31mred\n", i%50)
			before := out.Len()
			if <-n.Write(); out.Len() > before {
				writes++
			}
			time.Sleep(time.Second)
		}
		if writes > 10 || writes < 1 {
			t.Errorf("%d writes in ten minutes", writes)
		}
		if strings.ContainsAny(out.String(), "\x1b") || strings.Count(out.String(), "fault 7 of") != 1 {
			t.Errorf("written:\n%s", out.String())
		}
	})
}
