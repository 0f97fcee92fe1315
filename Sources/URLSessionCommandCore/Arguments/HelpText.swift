/// The texts of `--help`; each is one screen of 80 columns and 24 lines.
package enum HelpText: Equatable, Sendable, CaseIterable {
    case general
    case webSocket
    case connect
    case background

    /// The text about a command.
    init(of command: String?) {
        switch command {
        case "ws": self = .webSocket
        case "connect": self = .connect
        case "background": self = .background
        default: self = .general
        }
    }

    package var text: String {
        switch self {
        case .general: Self.generalText + "\n"
        case .webSocket: Self.webSocketText + "\n"
        case .connect: Self.connectText + "\n"
        case .background: Self.backgroundText + "\n"
        }
    }

    private static let generalText = """
        urlsession [get|post|put|delete|head|patch|options] URL... [switches]
        urlsession download URL [FILE]   upload FILE URL   demo  manual  completion NAME
        urlsession ws URL   connect HOST PORT   background …   (more with 'help ws' …)

        Request  -X NAME  -H 'Name: value'  -I  -A TEXT  -e URL  -r RANGE  -z DATE|FILE
                 -d DATA|@FILE  --data-binary, --data-raw, --data-urlencode  -G (query)
                 --json DATA  -F NAME=TEXT|@FILE  -T FILE  --http1.1, --http2, --http3
        Cookies  -b TEXT|FILE  -c FILE  --session NAME        User  -u NAME[:PASSWORD]
                 --oauth2-bearer TOKEN  --basic, --digest, --negotiate, --ntlm
        Time     -m, --connect-timeout, --idle-timeout SECONDS  --retry N --limit-rate N
        Network  -x PROXY  --noproxy HOSTS --resolve, --connect-to  -4 -6  --unix-socket
        TLS      -k  --cacert FILE  -E, --cert FILE  --key FILE --pin HASH --tls-min 1.3
        Redirect -L (default), --no-follow  --max-redirects N   Several  -Z, --parallel
        Output   -o FILE  -O, -OJ  --output-dir, --create-dirs  -i  -D FILE  -w FORMAT
                 -v, -vv (secrets too)  -s  -S  --no-progress  --color auto|always|never
        Insight  --metrics (times)  --trace (calls)  --har FILE    Scripts  -f (exit 22)
        Files    -K FILE  -q (no default file)              -h, --help  -V, --version

        A terminal gets head, colour and layout; a pipe or file the exact bytes.
        Exit  0 done   1 scheme   2 usage   3 URL   4 not available   6 host not found
              7 no connection   8 not HTTP  18 body cut short   22 --fail   23 writing
             26 reading a body  28 timeout  35 TLS   47 redirects   52 empty reply
             56 lost   60 certificate   61 coding   90 --pin   130 Ctrl-C   141 pipe
        """

    private static let webSocketText = """
        urlsession ws URL [switches]   a WebSocket: lines in, messages out

        Each line of standard input is sent as a text message, and each text message
        is printed as a line. The end of standard input closes with code 1000, Ctrl-C
        with 1001.

        Send     --binary               each piece that is read is a binary message
                 --whole                all of standard input is one message
                 --wait SECONDS         after the end of standard input, close when no
                                        message has come for so long
        Receive  --max-message SIZE     the largest message (1M), such as 64K or 16M
                 -o, --output FILE|-    A terminal gets a dump of binary messages; a
                                        pipe or file gets their bytes, without a line
        Opening  --protocol NAME        a subprotocol to offer; repeat for several
                 --compressed           offer to compress messages
                 -H 'Name: value'  -u NAME[:PASSWORD]  -k  --cacert FILE  --cert FILE
        Time     --ping SECONDS         ping a silent server, and notice a lost one
                 -m, --timeout SECONDS  --idle-timeout SECONDS (of the opening)
        Insight  -v (messages, pings, closing)  --metrics  --trace  --har FILE

        Exit  0 closed with 1000, 1001 or no code   110 closed with another code
             22 no WebSocket there   56 lost   100 message too large   28 timeout
        """

    private static let connectText = """
        urlsession connect HOST PORT [switches]   (or HOST:PORT, [ADDRESS]:PORT)

        A TCP connection: standard input is sent, and what is received is printed. The
        end of standard input closes that direction only; the command ends when the
        server closes.

        TLS      --tls                  from the first byte
                 --starttls PROTOCOL    after the plain-text steps of smtp, imap, pop3,
                                        ftp, ldap, xmpp or postgres
                 -k, --insecure         --cacert FILE  -E, --cert FILE[:PASSWORD]
                 --pin sha256//HASH     (of the server's key)
        Time     -m, --timeout SECONDS  --idle-timeout SECONDS (nothing either way)
        Output   -o, --output FILE|-    A terminal gets control characters as text; a
                                        pipe or file the exact bytes
                 -v, --verbose          -s, --silent   -S, --show-error   --trace

        Exit  0 closed by the server   6 host not found   7 no connection   28 timeout
             35 TLS   56 lost   60 certificate   64 no STARTTLS   90 --pin
        """

    private static let backgroundText = """
        urlsession background add URL… [switches]   transfers that outlive the command

        A service of the user makes them, and goes on when the terminal is closed, the
        network is gone, or the machine was restarted. It starts by itself.

        add URL…                  downloads into the current folder, and says the number
          -o, --output FILE|FOLDER     to that file, or into that folder
          --upload FILE           sends the file instead (PUT, or -X NAME)
          --discretionary         waits for mains power and a network without a meter
          -H 'Name: value'  -A TEXT  -s, --silent  -S, --show-error
        list [--json]             all background transfers of the user, of all programs
        watch                     the same as a live table, until Ctrl-C
        pause, resume, cancel ID…      a transfer, which ID names: a task's number of
                                  the list, or SESSION/TASK, APPLICATION/SESSION/TASK
        log ID…                   what the service knows of a transfer
        install                   writes units for systemd, which starts the service
                                  again after a restart (a program starts it, else)

        Exit  0 done   2 usage   3 URL   4 no such transfer, or no answer   23 writing
             26 reading a file   130 Ctrl-C
        """
}
