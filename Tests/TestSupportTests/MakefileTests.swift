import Foundation
import TestSupport
import Testing

/// What the commands of the Makefile would run.
@Suite struct MakefileTests {
    private func commands(_ arguments: String...) throws -> String {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let found = try ChildProcess.run(
            "/usr/bin/make", ["--no-print-directory", "-n", "-C", folder.path] + arguments, environment: [:])
        #expect(found.exit == .code(0))
        return found.output
    }

    // The README's commands look for it where it is without a prefix.
    @Test("only a prefix that is given moves the overlay") func overlay() throws {
        #expect(!(try commands("overlay")).contains("--prefix"))
        #expect(try commands("overlay", "PREFIX=/opt/it").contains("--prefix '/opt/it'"))
    }

    @Test("the client is installed for all users, or with a prefix") func install() throws {
        #expect(try commands("install").contains("urlsession '/usr/local'\n"))
        #expect(try commands("install", "PREFIX=/opt", "DESTDIR=/root").contains("urlsession '/root/opt'\n"))
    }
}
