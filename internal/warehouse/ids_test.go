package warehouse

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSplitID_Reversible(t *testing.T) {
	for id, want := range map[string]string{
		"p-1": "p- 1", "p-0": "p- 0", "p-01": "", "p": "", "7": " 7", "p-1/0": "p-1/ 0", "p-999999999999999999": "p- 999999999999999999",
		"p-1000000000000000000": "", "p1x": "",
	} {
		prefix, n, numbered := splitID(id)
		got := ""
		if numbered {
			got = fmt.Sprintf("%s %d", prefix, n)
			if joined := fmt.Sprintf("%s%d", prefix, n); joined != id {
				t.Errorf("%q came back as %q", id, joined)
			}
		}
		if got != want {
			t.Errorf("splitID(%q) is %q, want %q", id, got, want)
		}
	}
}

// randomID makes ids that share prefixes, touch each other and look alike.
func randomID(rng *rand.Rand) string {
	prefix := []string{"a-", "a-1/", "b", "", "a-0"}[rng.IntN(5)]
	switch rng.IntN(5) {
	case 0:
		return prefix + "x"
	case 1:
		return prefix + fmt.Sprintf("%02d", rng.IntN(20))
	default:
		return prefix + fmt.Sprint(rng.IntN(40))
	}
}

// A set of ids is a map of them, whatever the order they come in and however
// often it is packed and unpacked.
func TestIDSet_EqualsMap(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		set, want, runs := IDSet{}, map[string]bool{}, 0
		for range rng.IntN(120) {
			id := randomID(rng)
			if id == "" {
				continue
			}
			if set.Has(id) != want[id] {
				t.Fatalf("seed %d: has(%q) is %v", seed, id, set.Has(id))
			}
			runs += set.AddID(id)
			want[id] = true
		}
		unpacked := IDSet{}
		grown, err := unpacked.Unpack(set.Pack())
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]IDSet{"set": set, "unpacked": unpacked} {
			got := slices.Sorted(s.All())
			if !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
				t.Fatalf("seed %d: %s has %q, want %q", seed, name, got, slices.Sorted(maps.Keys(want)))
			}
			for range 50 {
				if id := randomID(rng); id != "" && s.Has(id) != want[id] {
					t.Fatalf("seed %d: %s.has(%q) is %v", seed, name, id, s.Has(id))
				}
			}
		}
		if n := set.Count(1e8); n != uint64(len(want)) {
			t.Fatalf("seed %d: %d ids are counted, want %d", seed, n, len(want))
		}
		if grown != runs {
			t.Fatalf("seed %d: %d runs were counted, %d are there", seed, runs, grown)
		}
	}
}

// A set is added to another, whatever the runs of both look like.
func TestIDSetUnpack_AddsToSet(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		both, runs, want := IDSet{}, 0, IDSet{}
		for range 1 + rng.IntN(5) {
			set := IDSet{}
			for range rng.IntN(60) {
				id := fmt.Sprintf("%c-%d", 'a'+rune(rng.IntN(2)), rng.IntN(150))
				set.AddID(id)
				want.AddID(id)
			}
			grown, err := both.Unpack(set.Pack())
			if err != nil {
				t.Fatal(err)
			}
			runs += grown
		}
		wantRuns := 0
		for _, r := range want {
			wantRuns += len(r)
		}
		if !reflect.DeepEqual(both, want) || runs != wantRuns {
			t.Fatalf("seed %d: %v and %d runs, want %v", seed, both, runs, want)
		}
	}
}

// Runs that are not in the order in which they are written are none: bringing them into
// it takes the longer the more they are, by the square.
func TestIDSetUnpack_RefusesUnsortedRuns(t *testing.T) {
	for _, runs := range []string{"9,7,5", "3,1", "1-5,5", "1-5,3-9", "1,1", "4-5,1-2"} {
		if _, err := (IDSet{}).Unpack(map[string]string{"p-": runs}); err == nil || !strings.Contains(err.Error(), "list of runs like 1-5,9") {
			t.Errorf("%s: %v", runs, err)
		}
	}
}

func TestIDSet_SortedIDsAreOneRun(t *testing.T) {
	set, runs := IDSet{}, 0
	for i := 1; i <= 100_000; i++ {
		runs += set.AddID(fmt.Sprintf("process-%d", i))
	}
	if got := set.Pack(); runs != 1 || len(got) != 1 || got["process-"] != "1-100000" {
		t.Errorf("%d runs, packed as %v", runs, got)
	}
}

// Ids are kept for the window, no longer, and a full log refuses new processes.
func TestIDLog_Bounded(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b := newIDLog(24*time.Hour, 240)
	for hour := range 72 {
		now := start.Add(time.Duration(hour) * time.Hour)
		b.addIDs([]string{fmt.Sprintf("p%d-1", hour), "p0-1", fmt.Sprintf("all-%d", hour)}, now)
		for age := range min(hour, 60) {
			has := b.has(fmt.Sprintf("p%d-1", hour-age))
			if age <= 24 && !has || age > 26 && has {
				t.Fatalf("hour %d: the id of %d hours ago is known: %v", hour, age, has)
			}
		}
		if !b.has("p0-1") || !b.has("all-0") {
			t.Fatalf("hour %d: the ids of a process that still sends are forgotten", hour)
		}
	}
	if b.dropped != 0 {
		t.Errorf("%d runs were dropped early", b.dropped)
	}
	now, refused := start.Add(72*time.Hour), 0
	for i := range 1000 {
		id := fmt.Sprintf("q%d-1", i)
		if !b.admit(id, "flood", now) {
			refused++
			continue
		}
		b.addIDs([]string{id}, now)
	}
	if n := len(b.known); b.runs != n || n >= b.max || refused != 1000-b.places["flood"] || refused < 700 || !b.has("q0-1") || !b.has("p71-1") || b.dropped != 0 {
		t.Errorf("%d places of %d are taken for %d processes, %d new ones refused, %d forgotten", b.runs, b.max, n, refused, b.dropped)
	}
	for i := range 10 { // other senders find room, however often the first one tries
		if b.admit("q9999-1", "flood", now) || !b.admit(fmt.Sprintf("r%d-1", i), fmt.Sprint("other", i), now) {
			t.Fatalf("the new process of sender %d is refused", i)
		}
	}
	if !b.admit("r11-1", "flood", now.Add(25*time.Hour)) || b.runs != 1 || len(b.places) != 1 {
		t.Errorf("%d places of %d senders are taken a day later", b.runs, len(b.places))
	}
}

// The numbers of a process with gaps take more and more runs. Where they find no room, it forgets its own
// oldest ones.
func TestIDLog_GapsForgetOwnIDs(t *testing.T) {
	b, now := newIDLog(24*time.Hour, 240), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b.admit("victim-1", "flood", now)
	b.addIDs([]string{"victim-1", "victim-2", "victim-3"}, now)
	for i := range 1000 {
		id := fmt.Sprintf("gaps-%d", 2*i)
		if !b.admit(id, "flood", now) {
			t.Fatalf("%s is refused", id)
		}
		b.addIDs([]string{id}, now)
	}
	if b.runs > b.max*7/8+1 || b.places["flood"] != b.runs || b.dropped < 700 || !b.has("victim-1") || !b.has("gaps-1998") || b.has("gaps-0") {
		t.Errorf("%d places of %d are taken, %d by the sender; %d runs are forgotten", b.runs, b.max, b.places["flood"], b.dropped)
	}
}

// What a manifest says about ids is read without a panic and written back as it
// was, or refused.
func FuzzUnpackIDs(f *testing.F) {
	for _, seed := range [][2]string{{"p-", "1-5,9"}, {"\x00plain", ""}, {"p-", ""}, {"p-", "9-1"}, {"\x00p-1", ""}, {"", "0-999999999999999999"}, {"p-", "1,2,3"}, {"p-", "-"}, {"p-", "9,7,5,3"}, {"p-", "1-4,4"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, key, runs string) {
		set := IDSet{}
		if _, err := set.Unpack(map[string]string{key: runs}); err != nil {
			return
		}
		for _, list := range set {
			for i := 1; i < len(list); i++ {
				if list[i-1].to+1 >= list[i].from {
					t.Fatalf("%q %q: %v", key, runs, list)
				}
			}
		}
		again := IDSet{}
		if _, err := again.Unpack(set.Pack()); err != nil {
			t.Fatalf("%q %q: %v", key, runs, err)
		}
		if !maps.Equal(set.Pack(), again.Pack()) {
			t.Fatalf("%q %q: %v and %v", key, runs, set.Pack(), again.Pack())
		}
		if prefix, plain := strings.CutPrefix(key, "\x00"); plain && !set.Has(prefix) {
			t.Fatalf("%q is not there", prefix)
		}
	})
}
