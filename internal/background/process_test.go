package background

import (
	"strings"
	"testing"
)

func TestCleanEnvironment_DropsUserSettings(t *testing.T) {
	got := cleanEnvironment([]string{"PATH=/bin", "OTEL_SERVICE_NAME=mine", "COREHOUR_SAMPLE=off", "HOME=/h"})
	if strings.Join(got, " ") != "PATH=/bin HOME=/h" {
		t.Errorf("got %v", got)
	}
}
