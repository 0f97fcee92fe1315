import FuzzDriver
import LoadingProtocols

/// The package manager makes this the program's main function, by this name.
@_cdecl("FTPFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The first octet chooses what is asked for; the rest is what the server says.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard count > 0 else { return 0 }
    let choice = start[0]
    let bytes = UnsafeRawBufferPointer(start: start + 1, count: count - 1)
    let whole = FTPRun(bytes, choice: choice, pieceLength: max(1, bytes.count)).actions
    precondition(whole == FTPRun(bytes, choice: choice, pieceLength: 3).actions, "a cut changes what is done")
    precondition(whole == FTPRun(bytes, choice: choice, pieceLength: 1).actions, "a cut changes what is done")
    let ends = whole.indices.filter { whole[$0].isEnd }
    precondition(ends.isEmpty || ends == [whole.count - 1], "something is done after the end")
    for case .send(let command) in whole {
        precondition(command.suffix(2) == [13, 10], "a command has no end")
        precondition(!command.dropLast(2).contains { $0 == 13 || $0 == 10 || $0 == 0 }, "two commands in one")
    }
    return 0
}

extension FTPConversation.Action {
    fileprivate var isEnd: Bool {
        switch self {
        case .complete, .fail, .refusedLogin: true
        case .send, .connect, .begin: false
        }
    }
}
