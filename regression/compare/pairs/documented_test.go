package pairs

import (
	"fmt"
	"testing"
	"time"

	"github.com/corehour/corehour/test/doctest"
)

func TestConstants_Documented(t *testing.T) {
	if minOverlap != 3 || buckets[0].Seconds() != 1 {
		t.Error("docs/guides/regression.md says these in words")
	}
	doctest.Contains(t, "guides/regression.md",
		fmt.Sprintf("or for %g where processes of other SDKs cannot be told apart", unseenFor.Minutes()),
		fmt.Sprintf("the same minutes of the base's last %d days", earlierDays),
		fmt.Sprintf("against the time before, %g hours of it at least", leastBefore.Hours()),
		"below 30 s a second", fmt.Sprintf("A difference within %d standard errors of that cost", knownBy),
		fmt.Sprintf("More than %d processes of a version are put into %d groups", maxMembers, maxMembers),
	)
	if overBuckets != 2 || overAfter != time.Minute {
		t.Error("docs/background/statistics.md says these in words")
	}
	doctest.Contains(t, "background/statistics.md", "when it has measured nothing for two time buckets and a minute")
}
