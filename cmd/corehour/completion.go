package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/corehour/corehour/regression/output"
	"github.com/corehour/corehour/regression/query"
)

const (
	// completionTimeout bounds the time in which a shell waits for names from the warehouse.
	completionTimeout = 2 * time.Second
	// maxCompletions bounds the number of suggested names.
	maxCompletions = 100
)

const completionText = `Writes a completion script to standard output. It completes commands and flags, and from the
warehouse services, namespaces, environments, versions and methods. Names are read for at most 2 s,
and at most 100 of them; errors are silent. BigQuery is not asked, since its queries are billed.`

func newCompletionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion [flags] bash|zsh|fish|powershell",
		Short: "Write a completion script for a shell",
		Long:  completionText,
		Example: `  corehour completion bash > /etc/bash_completion.d/corehour
  corehour completion zsh > "${fpath[1]}/_corehour"
  corehour completion fish > ~/.config/fish/completions/corehour.fish
  corehour completion powershell | Out-String | Invoke-Expression`,
		Annotations: exits("0 written\n2 failed: no such shell"),
		ValidArgs:   []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("want one shell (%s), found %d arguments", strings.Join(cmd.ValidArgs, ", "), len(args))
			}
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(out)
			}
			return fmt.Errorf("want one shell (%s), found %q", strings.Join(cmd.ValidArgs, ", "), args[0])
		},
	}
}

// namesOf returns stored names from an open warehouse.
type namesOf func(ctx context.Context, w *query.Warehouse) ([]string, error)

// completeFlags completes the values of the common flags.
func (c *common) completeFlags(cmd *cobra.Command) {
	service := func(name func(query.Service) string) namesOf {
		return func(ctx context.Context, w *query.Warehouse) (names []string, err error) {
			services, err := w.Services(ctx)
			for _, s := range services {
				names = append(names, name(s))
			}
			return names, err
		}
	}
	completeFlag(cmd, "service", c.complete(service(func(s query.Service) string { return s.Name })))
	completeFlag(cmd, "namespace", c.complete(service(func(s query.Service) string { return s.Namespace })))
	completeFlag(cmd, "environment", c.complete(service(func(s query.Service) string { return s.Environment })))
	completeFlag(cmd, "format", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return strings.Split(strings.Replace(c.flags.Lookup("format").Usage, " or ", ", ", 1), ", "), cobra.ShellCompDirectiveNoFileComp
	})
	completeFlag(cmd, "warehouse", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	cmd.ValidArgsFunction = cobra.NoFileCompletions
}

// completeVersions completes flags with a version.
func (c *common) completeVersions(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeFlag(cmd, flag, c.complete(func(ctx context.Context, w *query.Warehouse) (versions []string, err error) {
			runs, err := w.Runs(ctx, c.window, c.filter)
			for i := range runs {
				versions = append(versions, runs[i].Version)
			}
			return versions, err
		}))
	}
}

// methodNames returns the full names of methods.
func (c *common) methodNames(ctx context.Context, w *query.Warehouse) (names []string, err error) {
	methods, err := w.Sampling(ctx, c.window, c.filter)
	for i := range methods {
		names = append(names, methods[i].Full)
	}
	return names, err
}

// completeFlag panics if the flag does not exist, because that is a bug.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}

// complete returns names with the typed prefix. It reports no error, because a shell would print it into
// the command line.
func (c *common) complete(names namesOf) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		c.others = nil // cobra parses the flags twice
		if err := c.checkFlags(); err != nil || strings.HasPrefix(c.warehouse, remotePrefix) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
		defer cancel()
		found := make(chan []string, 1)
		go func() { // not every read of a file ends with the context
			found <- c.readNames(ctx, names)
		}()
		var all []string
		select {
		case all = <-found:
		case <-ctx.Done():
		}
		slices.Sort(all)
		all = slices.DeleteFunc(slices.Compact(all), func(name string) bool {
			return name == "" || !strings.HasPrefix(name, typed) || name != output.Printable(name)
		})
		return all[:min(len(all), maxCompletions)], cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *common) readNames(ctx context.Context, names namesOf) []string {
	w, err := c.open(ctx, c.window)
	if err != nil {
		return nil
	}
	defer w.Close()
	found, err := names(ctx, w)
	if err != nil {
		return nil
	}
	return found
}
