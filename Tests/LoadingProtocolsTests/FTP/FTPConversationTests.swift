import LoadingProtocols
import Testing

/// Whole conversations: what happens, and what is done about it.
@Suite struct FTPConversationTests {
    private enum Step: ExpressibleByStringLiteral {
        case reply(String)
        case connected
        case data(Int64)
        case lost

        init(stringLiteral value: String) { self = .reply(value) }
    }

    private static func file(_ path: String = "f") -> FTPRequest {
        let parts = path.split(separator: "/").map { Array($0.utf8) }
        return FTPRequest(directories: Array(parts.dropLast()), name: parts.last ?? [], form: .file)
    }

    private static func download(from beginning: FTPRequest.Beginning? = nil) -> FTPRequest {
        var request = file()
        request.wantsModificationTime = true
        request.beginning = beginning
        return request
    }

    /// What is done, in words, with a bar between what different steps lead to.
    private func performed(
        _ steps: [Step], _ request: FTPRequest = Self.file(), as login: FTPLogin = .anonymous,
        limits: FTPLimits = FTPLimits()
    ) -> [String] {
        var conversation = FTPConversation(request, as: login, limits: limits)
        return steps.map { step in
            let actions =
                switch step {
                case .reply(let text): conversation.received(Self.reply(text))
                case .connected: conversation.connected()
                case .data(let count): conversation.dataEnded(after: count)
                case .lost: conversation.connectionEnded()
                }
            return actions.map(Self.words).joined(separator: "; ")
        }
    }

    private static func reply(_ text: String) -> FTPReply {
        FTPReply(code: Int(text.prefix(3)) ?? 0, text: Array(text.dropFirst(4).utf8))
    }

    private static func words(_ action: FTPConversation.Action) -> String {
        switch action {
        case .send(let bytes):
            bytes.suffix(2) == [13, 10] ? String(decoding: bytes.dropLast(2), as: UTF8.self) : "no command"
        case .connect(let port): "connect \(port)"
        case .begin(let transfer):
            "begin \(transfer.offset) of \(transfer.size.map { "\($0)" } ?? "?") \(transfer.modificationTime ?? "-")"
        case .refusedLogin(let reply): "refused \(reply.code)"
        case .complete: "complete"
        case .fail(let failure): "\(failure)".components(before: "(")
        }
    }

    private static let loggedIn: [Step] = ["220 hi", "331 password", "230 in"]
    private static let typed: [Step] = loggedIn + ["200 binary"]
    private static let sized: [Step] = typed + ["213 5"]
    private static let requested: [Step] = sized + ["229 ok (|||4000|)", .connected]
    private static let begun: [Step] = requested + ["150 here"]

    // MISC-17
    @Test("a file") func aFile() {
        #expect(
            performed(Self.begun + ["226 done", .data(5), "221 bye", .lost]) == [
                "USER anonymous", "PASS anonymous", "TYPE I", "SIZE f", "EPSV", "connect 4000", "RETR f",
                "begin 0 of 5 -", "", "QUIT; complete", "", "",
            ])
        #expect(performed(Self.begun + [.data(5), "226 done"]).suffix(2) == ["", "QUIT; complete"])
    }

    // MISC-17: RFC 1738 §3.2.2
    @Test("a file in directories") func aFileInDirectories() {
        let steps: [Step] =
            Self.typed + ["250 a", "250 b", "213 5", "229 (|||4000|)", .connected, "125 here", .data(5), "250 ok"]
        #expect(
            performed(steps, Self.file("a/b c/f")).dropFirst(3) == [
                "CWD a", "CWD b c", "SIZE f", "EPSV", "connect 4000", "RETR f", "begin 0 of 5 -", "", "QUIT; complete",
            ])
    }

    // MISC-17
    @Test("directories and texts") func directoriesAndTexts() {
        let ways: [(FTPRequest.Form, String)] = [(.listing, "LIST"), (.names, "NLST"), (.text, "RETR x")]
        for (form, command) in ways {
            let request = FTPRequest(directories: [Array("d".utf8)], name: Array("x".utf8), form: form)
            let steps: [Step] =
                Self.loggedIn + [
                    "200 ok", "250 ok", "229 (|||4000|)", .connected, "150 Opening (99 bytes)", .data(7), "226 ok",
                ]
            #expect(
                performed(steps, request).dropFirst(2) == [
                    "TYPE A", "CWD d", "EPSV", "connect 4000", command, "begin 0 of ? -", "", "QUIT; complete",
                ])
        }
        let empty = FTPRequest(directories: [], name: [], form: .names)
        let steps: [Step] = Self.loggedIn + ["200 ok", "229 (|||4000|)", .connected, "450 No files found"]
        #expect(performed(steps, empty).last == "begin 0 of ? -; QUIT; complete")
    }

    // MISC-17: RFC 2428, and before it
    @Test("EPSV refused") func epsvRefused() {
        for refusal: Step in ["500 what?", "502 no", "522 protocol", "425 no"] {
            let steps = Self.sized + [refusal, "227 Entering Passive Mode (10,9,8,7,15,160).", .connected]
            #expect(performed(steps).suffix(3) == ["PASV", "connect 4000", "RETR f"])
        }
        #expect(performed(Self.sized + ["500 no", "500 no"]).last == "refused")
    }

    // MISC-17, ERR-7: the answers to EPSV and PASV
    @Test(
        "ports",
        arguments: [
            ("229 ok (|||1|)", "connect 1"), ("229 (!!!65535!)", "connect 65535"), ("229 a (|||21|) b", "connect 21"),
            ("229 ok", "noPort"), ("229 (|||0|)", "noPort"), ("229 (|||65536|)", "noPort"), ("229 (||||)", "noPort"),
            ("229 (|1|10.0.0.1|21|)", "noPort"), ("229 (|||21)", "noPort"), ("229 (|||-1|)", "noPort"),
            ("229 (|||99999999999999999999|)", "noPort"), ("229 (11121 1)", "noPort"), ("229 (", "noPort"),
            ("229 (|||2a|)", "noPort"),
        ])
    func ports(reply: String, expected: String) {
        #expect(performed(Self.sized + [.reply(reply)]).last == expected)
    }

    // MISC-17, ERR-7
    @Test(
        "ports of PASV",
        arguments: [
            ("227 (127,0,0,1,0,21)", "connect 21"), ("227 Entering 127,0,0,1,255,255", "connect 65535"),
            ("227 =1,2,3,4,1,0", "connect 256"), ("227 2 ways (1,2,3,4,0,9)", "connect 9"), ("227 ok", "noPort"),
            ("227 (1,2,3,4,5)", "noPort"), ("227 (1,2,3,4,0,0)", "noPort"), ("227 (1,2,3,4,256,1)", "noPort"),
            ("227 (1,2,3,4,99999999999999999999,1)", "noPort"), ("227 (1,2,3,,5,6)", "noPort"),
        ])
    func portsOfPASV(reply: String, expected: String) {
        #expect(performed(Self.sized + ["500 no", .reply(reply)]).last == expected)
    }

    // MISC-17, AUTH-9
    @Test("replies that accept the login") func acceptedLogin() {
        let ann = FTPLogin(user: "ann", password: "s e")
        #expect(performed(["220 a", "331 b", "230 c"], as: ann) == ["USER ann", "PASS s e", "TYPE I"])
        #expect(performed(["120 wait", "220 a", "230 in"], as: ann) == ["", "USER ann", "TYPE I"])
        #expect(performed(["220 a", "331 b", "202 in"], as: ann).last == "TYPE I")
        for refusal: Step in ["530 no", "430 no", "332 account"] {
            #expect(
                performed(["220 a", refusal, "230 in", .lost], as: ann).dropFirst().first?.hasPrefix("refused") == true)
            #expect(performed(["220 a", "331 b", refusal], as: ann).last?.hasPrefix("refused ") == true)
        }
        // A login without a password is challenged for one.
        #expect(performed(["220 a", "331 b"], as: FTPLogin(user: "ann", password: nil)).last == "refused 331")
        #expect(performed(["220 a", "230 b"], as: FTPLogin(user: "ann", password: nil)).last == "TYPE I")
        #expect(performed(Self.typed + ["530 not there"], Self.file("a/b")).last == "refused 530")
    }

    // MISC-17: what would be a second command is never said
    @Test("line ends", arguments: ["\r\n", "\n", "\r", "\u{0}"])
    func lineEnds(end: String) {
        #expect(performed(["220 a"], as: FTPLogin(user: "a\(end)DELE b", password: "p")) == ["forbiddenCharacter"])
        #expect(
            performed(["220 a", "331 b"], as: FTPLogin(user: "a", password: "p\(end)DELE b")).last
                == "forbiddenCharacter")
        #expect(performed(Self.typed, Self.file("a\(end)DELE b")).last == "forbiddenCharacter")
        #expect(performed(Self.typed, Self.file("a\(end)DELE b/c")).last == "forbiddenCharacter")
    }

    // MISC-17, RES-3 to RES-7: RFC 3659 §5
    @Test("going on") func goingOn() {
        let beginning = FTPRequest.Beginning(count: 3, size: 5, modificationTime: "20260102030405")
        let before: [Step] = Self.sized + ["213 20260102030405", "229 (|||4000|)"]
        #expect(
            performed(
                before + [.connected, "350 go on", "150 rest (2 bytes)", .data(2), "226 ok"],
                Self.download(from: beginning)
            ).dropFirst(4)
                == [
                    "MDTM f", "EPSV", "connect 4000", "REST 3", "RETR f", "begin 3 of 5 20260102030405", "",
                    "QUIT; complete",
                ])
        // A server that cannot: all of it.
        #expect(
            performed(before + [.connected, "502 no", "150 all"], Self.download(from: beginning)).suffix(2)
                == ["RETR f", "begin 0 of 5 20260102030405"])
        // Another file by now.
        let changes: [[Step]] = [
            ["213 6", "213 20260102030405"], ["213 5", "213 20260102030406"], ["550 no", "213 20260102030405"],
            ["213 5", "500 no"],
        ]
        for change in changes {
            let steps = Self.typed + change + ["229 (|||4000|)", .connected]
            #expect(performed(steps, Self.download(from: beginning)).last == "RETR f")
        }
        // It agrees, and sends all of it: appended to what there is, that would be another file.
        #expect(
            performed(
                before + [.connected, "350 go on", "150 all", .data(5), "226 ok"], Self.download(from: beginning)
            ).last == "overlong")
        let beyond = FTPRequest.Beginning(count: 6, size: 5, modificationTime: "20260102030405")
        #expect(performed(before + [.connected], Self.download(from: beyond)).last == "RETR f")
    }

    // MISC-17: facts about a file are accepted only in the specified form
    @Test(
        "sizes and times",
        arguments: [
            ("213 5", "213 20260102030405", "5 20260102030405"),
            ("213  5 ", "213 20260102030405.123", "5 20260102030405.123"),
            ("213 -5", "213 2026", "? -"), ("213 5x", "213 yesterday", "? -"), ("213", "213", "? -"),
            ("250 5", "250 20260102030405", "? -"), ("550 5", "550 no", "? -"),
            ("213 99999999999999999999", "213 \(String(repeating: "1", count: 99))", "? -"),
        ])
    func sizesAndTimes(size: String, time: String, expected: String) {
        let steps = Self.typed + [.reply(size), .reply(time), "229 (|||4000|)", .connected, "150 x"]
        #expect(performed(steps, Self.download()).last == "begin 0 of \(expected)")
    }

    // MISC-13
    @Test(
        "the length in the 150",
        arguments: [
            ("150 Opening BINARY mode data connection for f (7 bytes).", "7"), ("150 (a) f (7 bytes)", "7"),
            ("150 ok", "?"),
            ("150 f (x bytes)", "?"), ("150 f (7 lines)", "?"), ("150 f (7", "?"),
            ("150 (99999999999999999999 bytes)", "?"),
        ])
    func theLengthInThe150(reply: String, expected: String) {
        let steps = Self.typed + ["500 no", "229 (|||4000|)", .connected, .reply(reply)]
        #expect(performed(steps).last == "begin 0 of \(expected) -")
        #expect(performed(Self.requested + [.reply(reply)]).last == "begin 0 of 5 -")
    }

    // ERR-8, MISC-17
    @Test("what cannot be had") func whatCannotBeHad() {
        #expect(performed(Self.requested + ["550 no", "250 it is"]).suffix(2) == ["CWD f", "isDirectory"])
        #expect(performed(Self.requested + ["550 no", "550 no"]).last == "refused")
        #expect(performed(Self.requested + ["450 busy"]).last == "refused")
        #expect(performed(Self.typed + ["550 no"], Self.file("a/b")).last == "refused")
        #expect(performed(["500 no"]) == ["refused"])
        #expect(performed(Self.loggedIn + ["504 no"]).last == "refused")
    }

    // ERR-6, T-38
    @Test("transfers that are cut") func transfersThatAreCut() {
        #expect(performed(Self.begun + [.data(3), "226 done"]).last == "truncated")
        #expect(performed(Self.begun + [.data(3), "426 no"]).last == "interrupted")
        #expect(performed(Self.begun + ["451 no", .data(3)]).suffix(2) == ["", "interrupted"])
        #expect(performed(Self.begun + ["451 no", .lost, .data(5)]).suffix(3) == ["", "", "interrupted"])
        #expect(performed(Self.begun + [.data(3), .lost]).last == "connectionLost")
        #expect(performed(Self.begun + ["421 bye", .data(3)]).suffix(2) == ["", "connectionLost"])
        // All of it is here, whatever became of the control connection.
        #expect(performed(Self.begun + [.lost, .data(5)]).last == "complete")
        #expect(performed(Self.begun + [.data(5), .lost]).last == "complete")
        // The length is not known.
        let steps: [Step] = Self.typed + ["500 no", "229 (|||4000|)", .connected, "150 x"]
        #expect(performed(steps + [.data(5), .lost]).last == "connectionLost")
        #expect(performed(steps + [.lost, .data(5)]).last == "connectionLost")
        #expect(performed(steps + [.data(5), "226 ok"]).last == "QUIT; complete")
        // A file that grows.
        #expect(performed(Self.begun + [.data(9), "226 ok"]).last == "QUIT; complete")
    }

    // ERR-5
    @Test("421 and the end of the connection, at every step") func atEveryStep() {
        for count in 0..<Self.requested.count {
            for end: Step in [.lost, "421 bye"] {
                #expect(
                    performed(Array(Self.requested.prefix(count)) + [end, "220 x", .connected]).suffix(3) == [
                        "connectionLost", "", "",
                    ])
            }
        }
    }

    // ERR-7
    @Test("replies out of place") func repliesOutOfPlace() {
        #expect(performed(Self.sized + ["229 (|||4000|)", "226 x"]).last == "unexpectedReply")
        #expect(performed(Self.loggedIn + ["150 x"]).last == "unexpectedReply")
        #expect(performed(Self.requested + ["350 x"]).last == "unexpectedReply")
        #expect(performed(Self.begun + ["226 x", "226 x"]).last == "unexpectedReply")
        #expect(performed(["220 x", "350 x"]).last == "unexpectedReply")
        // 421 is the server's last reply.
        #expect(performed(Self.begun + ["421 x", "421 x"]).suffix(2) == ["", "unexpectedReply"])
        #expect(performed(Self.begun + ["421 x", .lost, .data(5)]).suffix(3) == ["", "", "complete"])
        var limits = FTPLimits()
        limits.maximumPreliminaryCount = 2
        #expect(performed(["120 a", "120 b", "120 c"], limits: limits) == ["", "", "tooManyReplies"])
        #expect(performed(Self.begun + ["150 b", "150 c"], limits: limits).suffix(2) == ["", "tooManyReplies"])
    }
}

extension String {
    fileprivate func components(before mark: Character) -> String { String(prefix { $0 != mark }) }
}
