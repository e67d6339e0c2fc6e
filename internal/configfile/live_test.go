package configfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines parses a test format: `bad` is a faulty entry, `broken` makes the file unusable.
func lines(path string, strict bool) Source[[]string] {
	return Source[[]string]{Key: "words", Path: path, Strict: strict, Parse: func(data []byte) ([]string, []Warning, error) {
		var good []string
		var warnings []Warning
		for i, line := range strings.Fields(string(data)) {
			switch line {
			case "broken":
				return nil, nil, errors.New("must not be broken")
			case "bad":
				warnings = append(warnings, Warning{Where: "lines", Index: i, Line: i + 1, Rule: "must be good", Value: "bad", Hint: "better it"})
			default:
				good = append(good, line)
			}
		}
		return good, warnings, nil
	}}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write(t, path, "a bad b")
	good, warnings, err := lines(path, false).Load()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, good)
	require.Len(t, warnings, 1)
	assert.Equal(t, "lines (line 2): must be good, found bad: better it", warnings[0].Error())

	write(t, path, "a bad b bad")
	_, _, err = lines(path, true).Load()
	name := "`words` " + Quote(path)
	assert.EqualError(t, err, name+": lines (line 2): must be good, found bad: better it\n"+
		name+": lines (line 4): must be good, found bad: better it")

	write(t, path, "broken")
	_, _, err = lines(path, false).Load()
	assert.EqualError(t, err, name+": must not be broken")

	_, _, err = lines(filepath.Join(dir, "absent"), false).Load()
	assert.EqualError(t, err, "`words` "+Quote(filepath.Join(dir, "absent"))+" must exist, found no such file")
	t.Chdir(dir)
	_, _, err = lines("absent", false).Load()
	assert.EqualError(t, err, "`words` \"absent\" must exist, found no such file: a relative path starts in "+Quote(dir))

	_, _, err = lines(dir, false).Load()
	assert.EqualError(t, err, "`words` "+Quote(dir)+" must be a regular file, found d---------")

	require.NoError(t, os.Truncate(path, MaxSize+1))
	_, _, err = lines(path, false).Load()
	assert.EqualError(t, err, name+" must be at most 16777216 bytes, found more")
}

func TestLog_TooManyWarnings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, strings.Repeat("bad ", 250))
	_, _, err := lines(path, true).Load()
	printed := strings.Split(err.Error(), "\n")
	assert.Len(t, printed, 101)
	assert.Equal(t, "`words` "+Quote(path)+": and 150 more faults", printed[100])

	core, logs := observer.New(zapcore.WarnLevel)
	_, warnings, err := lines(path, false).Load()
	require.NoError(t, err)
	Log(zap.New(core), path, warnings)
	assert.Equal(t, 101, logs.Len())
	assert.Equal(t, int64(150), logs.All()[100].ContextMap()["count"])
}

func TestAnnounce_DiscardingLogger(t *testing.T) {
	warnings := make([]Warning, 101)
	for i := range warnings {
		warnings[i] = Warning{Where: "lines", Index: i, Rule: "must be good"}
	}
	var out strings.Builder
	Announce(&out, zap.NewNop().With(zap.String("component", "c")), "processors::c", "a\nb", warnings)
	printed := strings.Split(out.String(), "\n")
	assert.Len(t, printed, 102)
	assert.Equal(t, `warning: processors::c: "a\nb": lines: must be good`, printed[0])
	assert.Equal(t, `warning: processors::c: "a\nb": and 1 more faults`, printed[100])

	out.Reset()
	core, _ := observer.New(zapcore.FatalLevel)
	Announce(&out, zap.New(core), "processors::c", "f", warnings)
	assert.Empty(t, out.String())
}

func TestQuote(t *testing.T) {
	assert.Equal(t, `"a\x1b[2Jb"`, Quote("a\x1b[2Jb"))
	cut := Quote(strings.Repeat("é", 100) + "\n")
	assert.Equal(t, `"`+strings.Repeat("é", 40)+`"...`, cut)
	assert.Equal(t, `"a`+strings.Repeat("é", 39)+`"...`, Quote("a"+strings.Repeat("é", 100)), "never through a letter")
}

func TestLive_Changes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		core, logs := observer.New(zapcore.InfoLevel)
		var applied, refused atomic.Int64
		l := NewLive(lines(path, false), zap.New(core), func(ok bool) {
			if ok {
				applied.Add(1)
			} else {
				refused.Add(1)
			}
		})
		defer l.Shutdown()
		messages := func() []string {
			var all []string
			for _, entry := range logs.TakeAll() {
				all = append(all, entry.Level.String()+" "+entry.Message)
			}
			return all
		}
		look := func() {
			time.Sleep(Interval)
			synctest.Wait()
		}

		write(t, path, "a bad")
		require.NoError(t, l.Start())
		assert.Equal(t, []string{"a"}, *l.Get())
		assert.Equal(t, []string{"warn faulty part left out"}, messages())
		look()
		assert.Empty(t, messages(), "nothing changed")

		write(t, path, "b bad c")
		look()
		assert.Equal(t, []string{"a"}, *l.Get(), "it may still be being written")
		look()
		assert.Equal(t, []string{"b", "c"}, *l.Get())
		assert.Equal(t, []string{"warn faulty part left out", "info file reloaded"}, messages())
		assert.Equal(t, int64(1), applied.Load())

		write(t, path, "broken")
		for range 4 {
			look()
		}
		assert.Equal(t, []string{"b", "c"}, *l.Get(), "what was good stays")
		assert.Equal(t, []string{"error file changed and is faulty: its previous content stays in force"}, messages(), "logged once")
		assert.Equal(t, int64(1), refused.Load())

		require.NoError(t, os.Remove(path))
		for range 4 {
			look()
		}
		assert.Equal(t, []string{"b", "c"}, *l.Get())
		assert.Len(t, messages(), 1)
		assert.Equal(t, int64(2), refused.Load())

		write(t, path, "b bad c") // what is in force, but not what was looked at last
		look()
		look()
		assert.Equal(t, []string{"warn faulty part left out", "info file reloaded"}, messages())

		l.Shutdown()
		write(t, path, "d")
		time.Sleep(10 * Interval)
		assert.Equal(t, []string{"b", "c"}, *l.Get())
	})
}

func TestLive_StrictFaultyChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "a bad")
		l := NewLive(lines(path, true), zap.NewNop(), func(bool) {})
		assert.Error(t, l.Start())
		assert.Nil(t, l.Get())
		l.Shutdown()

		write(t, path, "a")
		l = NewLive(lines(path, true), zap.NewNop(), func(bool) {})
		require.NoError(t, l.Start())
		write(t, path, "b bad")
		time.Sleep(3 * Interval)
		synctest.Wait()
		assert.Equal(t, []string{"a"}, *l.Get())
		l.Shutdown()
		l.Shutdown()
	})
}
