package background

import (
	"strings"
	"testing"
)

func TestUsersSettingsStayOut(t *testing.T) {
	got := cleanEnvironment([]string{"PATH=/bin", "OTEL_SERVICE_NAME=mine", "COREHOUR_SAMPLE=off", "HOME=/h"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/h" {
		t.Errorf("got %v", got)
	}
}
