/**
 * Reads a file into the page cache again, in small folios.
 *
 * The kernel caches the data of one large write in large folios (ext4 from Linux 6.16 on). Each later write of a page into such a folio
 * takes several times as much CPU. The fill writes larger groups than a service, so its folios are larger than those of a real site. The file is
 * therefore dropped from the page cache, and read backwards. The kernel does no read-ahead for backward reads.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'

const READ_BYTES = 2 ** 20

export function renewInPageCache(file: string): void {
  execFileSync('dd', [`of=${file}`, 'if=/dev/null', 'count=0', 'oflag=nocache', 'conv=notrunc,fdatasync', 'status=none'])
  const before = bytesFromDisk()
  const descriptor = openSync(file, 'r')
  const { size } = fstatSync(descriptor)
  const block = Buffer.allocUnsafe(READ_BYTES)
  for (let end = size; end > 0; end -= READ_BYTES) readSync(descriptor, block, 0, READ_BYTES, Math.max(0, end - READ_BYTES))
  closeSync(descriptor)
  if (!(bytesFromDisk() - before >= size / 2)) throw new Error(`${file} stays in the page cache: set TMPDIR to a folder on a disk`)
}

/** Bytes read from disks by this process (proc(5)). */
function bytesFromDisk(): number {
  return Number(/^read_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
}
