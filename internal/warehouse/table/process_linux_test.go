package table

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/corehour/corehour/internal/methodspan"
	"github.com/corehour/corehour/internal/warehouse"
)

// The tests below run this test binary as a second process.
const childEnv = "COREHOUR_TEST_WRITES_TO"

func TestMain(m *testing.M) {
	if root := os.Getenv(childEnv); root != "" {
		childWrites(root)
	}
	os.Exit(m.Run())
}

// childItem returns the n-th item that the child writes. It spans one or two dates.
func childItem(n int) methodspan.Item {
	start := noon
	if n%2 == 0 {
		start = noon.Add(-12*time.Hour - time.Second)
	}
	return item(fmt.Sprintf("child-%d", n), start, 1+n%4)
}

// childWrites writes items until it is killed. It prints the number of each committed item.
func childWrites(root string) {
	w, err := NewWriter(root, Options{Now: (&clock{noon}).now, disk: lazyDisk{}})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("open")
	for n := 1; ; n++ {
		res, err := w.Write(context.Background(), []methodspan.Item{childItem(n)})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		if res.Rows > 0 {
			fmt.Println("committed", n)
		}
	}
}

func child(t *testing.T, root string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// A killed writer loses no acknowledged write. Its last, unacknowledged write is stored completely or not at all.
// The next writer starts without manual repair.
func TestWriter_Killed(t *testing.T) {
	root := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 1))
	last := 0
	for round := range 12 {
		cmd, lines := child(t, root)
		lives := last + 1 + rng.IntN(6)
		for lines.Scan() {
			line := lines.Text()
			if strings.HasPrefix(line, "error") {
				t.Fatal(line)
			}
			if n, err := fmt.Sscanf(line, "committed %d", &last); n == 1 && err == nil && last >= lives {
				break
			}
		}
		// The child is now at some step of its next write.
		time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			_, _ = fmt.Sscanf(lines.Text(), "committed %d", &last)
		}
		_ = cmd.Wait()

		w := openWriter(t, root, Options{})
		var want []methodspan.Item
		for n := 1; n <= last; n++ {
			want = append(want, childItem(n))
		}
		what := fmt.Sprintf("round %d, killed after %d", round, last)
		if len(storedPlaces(t, root)) > len(wantPlaces(want...)) {
			last++ // committed, but killed before it printed this
			want = append(want, childItem(last))
		}
		wantStored(t, what, root, want...)
		wantTidy(t, what, root)
		w.Close()
	}
}

func TestNewWriter_SecondRefused(t *testing.T) {
	root := t.TempDir()
	cmd, lines := child(t, root)
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines.Scan()
	if lines.Text() != "open" {
		t.Fatal(lines.Text())
	}
	_, err := NewWriter(root, Options{})
	if !errors.Is(err, warehouse.ErrLocked) {
		t.Fatal(err)
	}
	for _, want := range []string{root, fmt.Sprintf("process %d", cmd.Process.Pid), "`path` of its own"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// On a full disk the writer removes unfinished files, returns an error with a hint and keeps stored rows intact. It
// continues once there is space.
func TestWriter_DiskFull(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mount("corehour-test", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Logf("no file system of its own (%v): the error is injected instead", err)
		testFullDiskInjected(t)
		return
	}
	defer func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	w := openWriter(t, root, Options{})
	var stored []methodspan.Item
	var failure error
	for n := range 1000 {
		it := item(fmt.Sprintf("p-%d", n), noon, 50)
		if _, failure = w.Write(context.Background(), []methodspan.Item{it}); failure != nil {
			break
		}
		stored = append(stored, it)
	}
	wantFull(t, failure, root)
	wantStored(t, "full", root, stored...)
	wantTidy(t, "full", root)
	// The space runs out at different steps.
	for n := range 200 {
		filler := root + "/filler"
		if err := os.WriteFile(filler, make([]byte, 1024*(n%64)), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		it := item(fmt.Sprintf("q-%d", n), noon, 50)
		if _, err := w.Write(context.Background(), []methodspan.Item{it}); err == nil {
			stored = append(stored, it)
		} else {
			wantFull(t, err, root)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	wantStored(t, "still full", root, stored...)
	w.Close()
	if err := syscall.Mount("corehour-test", root, "tmpfs", syscall.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	w = openWriter(t, root, Options{})
	stored = append(stored, item("r-1", noon, 50))
	write(t, w, stored...)
	wantStored(t, "with room again", root, stored...)
	w.Close()
}

func wantFull(t *testing.T, err error, root string) {
	t.Helper()
	var typed *warehouse.Error
	if !errors.Is(err, warehouse.ErrFull) || errors.Is(err, warehouse.ErrUnknown) || !errors.As(err, &typed) {
		t.Fatalf("%T: %v", err, err)
	}
	if !strings.HasPrefix(typed.Path, root) || !strings.Contains(typed.Hint, "free space") || typed.Op == "" {
		t.Errorf("%+v", typed)
	}
}

// fullDisk fails to create any file, with ENOSPC.
type fullDisk struct{ lazyDisk }

func (fullDisk) create(path string) (diskFile, error) {
	return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOSPC}
}

func testFullDiskInjected(t *testing.T) {
	root := t.TempDir()
	w := openWriter(t, root, Options{disk: fullDisk{}})
	_, err := w.Write(context.Background(), items(1, 5))
	wantFull(t, err, root)
	w.opts.disk = lazyDisk{}
	write(t, w, items(1, 5)...)
	wantStored(t, "with room again", root, items(1, 5)...)
}
