/// The text of `--help`; one screen of 80 columns and 24 lines.
package enum HelpText {
    package static let text = """
        urlsession [get|post|put|delete|head|patch|options] URL [switches]
        urlsession download URL [FILE]  resumes an earlier run (--no-resume, --force)
        urlsession upload FILE URL      urlsession demo (a tour with its own server)

        Request  -X, --method NAME      -H, --header 'Name: value'   ('Name:' removes)
                 -d, --data TEXT|@FILE|@- (stdin)      --json TEXT|@FILE|@-
                 -A, --user-agent TEXT  -I, --head   --http1.1, --http2, --http3 (only)
        Time     -m, --timeout SECONDS  --idle-timeout SECONDS (no progress at all)
        TLS      -k, --insecure         --cacert FILE  -E, --cert FILE[:PASSWORD]
                 --pin sha256//HASH     (of the server's key)
        User     -u, --user NAME[:PASSWORD]  --basic, --digest, --negotiate, --ntlm
        Redirect -L, --follow (default) --no-follow    --max-redirects COUNT
        Output   -o, --output FILE|-    -O, --remote-name
                 -i, --include (head)   -v, --verbose  (-vv shows secrets too)
                 -s, --silent           -S, --show-error
                 --no-progress          --color auto|always|never
        Insight  --metrics (times)  --trace (calls)  --har FILE, --har-with-secrets
        Scripts  -f, --fail (exit 22 from 400 on)  -h, --help  -V, --version

        A terminal gets head, colour and layout; a pipe or file the exact bytes.
        Exit  0 done   1 scheme   2 usage   3 URL   4 not available   6 host not found
              7 no connection   8 not HTTP  18 body cut short   22 --fail   23 writing
             26 reading a body  28 timeout  35 TLS   47 redirects   52 empty reply
             56 lost   60 certificate   61 coding   90 --pin   130 Ctrl-C   141 pipe
        """ + "\n"
}
