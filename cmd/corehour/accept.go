package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/regression/alert/state"
	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

func newAcceptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accept [flags] ID",
		Short: "Accept a slowdown as the new baseline",
		Long: `Accepts the level of a slowdown as the new baseline of its method. regress lists it as accepted and
raises no alert until the method is significantly more expensive than that level by more than the
threshold. Open alerts of it are resolved. ID is that of an alert, or its first 6 characters; it is
searched among open alerts, then in a comparison with the flags given here. See docs/guides/alerts.md.`,
		Example: `  corehour accept 068116bb --reason "new tax rules need a second lookup"
  corehour accept 068116bb9f02c1d4 --withdraw`,
		Annotations: exits("0 accepted or withdrawn\n2 failed: no such alert\n3 no data"),
	}
	r := &regressFlags{evaluationFlags: evaluationFlags{common: newCommon(cmd, "7d")}}
	r.declareRule(cmd)
	r.delivery.declareState(r.flags)
	reason := r.flags.String("reason", "", "why the slowdown is accepted (`text`)")
	by := r.flags.String("by", "", "`name` of who accepts it (default: the user's)")
	withdraw := r.flags.Bool("withdraw", false, "withdraw what was accepted under this id")
	return withWork(cmd, func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		r.notices = stderr
		return r.acceptOrWithdraw(ctx, *reason, *by, *withdraw, stdout)
	})
}

func (r *regressFlags) acceptOrWithdraw(ctx context.Context, reason, by string, withdraw bool, stdout io.Writer) (int, error) {
	id := ""
	err := r.checkFlags(r.checkRule, func() (err error) {
		if id, err = idOf(r.flags.Args(), reason, withdraw); err != nil {
			return err
		}
		var errs []error
		switch {
		case withdraw && reason != "":
			errs = append(errs, errors.New("--reason has no effect with --withdraw"))
		case !withdraw && strings.TrimSpace(reason) == "":
			errs = append(errs, fmt.Errorf("--reason: want why the slowdown is accepted, found nothing: %s", rightForm(id, "", false)))
		case len(reason) > state.MaxReason || len(by) > state.MaxReason:
			errs = append(errs, fmt.Errorf("--reason and --by: want at most %d bytes, found more", state.MaxReason))
		}
		return errors.Join(errs...)
	})
	if err != nil {
		return exitFailed, err
	}
	store := r.delivery.store(r.warehouse)
	if withdraw {
		return exitNothing, withdrawFrom(store, id, stdout)
	}
	if by == "" {
		if u, err := user.Current(); err == nil {
			by = u.Username
		}
	}
	return exitNothing, r.accept(ctx, store, id, by, reason, stdout)
}

var hexadecimal = regexp.MustCompile(`^[0-9a-f]+$`)

// idOf returns the id among the arguments. For invalid arguments the error shows the command in its right
// form, with the parts that can be guessed.
func idOf(arguments []string, reason string, withdraw bool) (string, error) {
	id, rest := "", []string(nil)
	for _, a := range arguments {
		if id == "" && len(a) >= minID && hexadecimal.MatchString(a) {
			id = a
		} else {
			rest = append(rest, a)
		}
	}
	if id != "" && len(rest) == 0 {
		return id, nil
	}
	found := "nothing"
	if len(rest) > 0 {
		found = fmt.Sprintf("%q", strings.Join(rest, " "))
	}
	if id != "" {
		if reason == "" {
			reason = strings.Join(rest, " ")
		}
		return "", fmt.Errorf("want one id, found the further argument %s: %s", found, rightForm(id, reason, withdraw))
	}
	return "", fmt.Errorf("want the id of an alert, at least its first %d characters, found %s: corehour regress prints ids; %s", minID, found, rightForm("", reason, withdraw))
}

// rightForm returns the command in its right form.
func rightForm(id, reason string, withdraw bool) string {
	form := "corehour accept " + cmp.Or(id, "ID")
	if withdraw {
		return form + " --withdraw"
	}
	return fmt.Sprintf("%s --reason %q", form, cmp.Or(reason, "why it is accepted"))
}

// minID is the least length of an id's prefix, so that a typing error does not accept another alert.
const minID = 6

func (r *regressFlags) accept(ctx context.Context, store *state.Store, id, by, reason string, stdout io.Writer) error {
	known, err := store.Read()
	if err != nil {
		return err
	}
	found, err := known.Find(id)
	if err != nil {
		return err
	}
	if found == nil {
		f, err := r.evaluate(ctx)
		if err != nil {
			return fmt.Errorf("no open alert has the id %q, and the comparison failed: %w", id, err)
		}
		if found, err = state.Find(f.Alerts, id); err != nil {
			return err
		}
	}
	if found == nil {
		return fmt.Errorf("no alert has the id %q: list ids with corehour regress, and give accept the same flags", id)
	}
	var accepted *state.Acceptance
	err = store.Update(func(s *state.State) (err error) {
		accepted, err = s.Accept(found, by, reason, now())
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, output.Printable(fmt.Sprintf("%s of %s, %s: %s", found.About(), query.Service{Namespace: found.ServiceNamespace, Name: found.Service, Environment: found.Environment}, found.Levels().Level(), accepted)))
	return err
}

func withdrawFrom(store *state.Store, id string, stdout io.Writer) error {
	err := store.Update(func(s *state.State) error {
		if !s.Withdraw(id) {
			return fmt.Errorf("nothing was accepted under the id %q: want the whole id, as corehour regress prints it", id)
		}
		return nil
	})
	if err == nil {
		_, err = fmt.Fprintln(stdout, output.Printable(id+" is no longer accepted"))
	}
	return err
}
