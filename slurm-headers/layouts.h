/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made by slurm-headers/record-layouts; not by hand. Sizes of Slurm's records and offsets of the fields in surface.toml, in
 * bytes, where a pointer has 8: one column for each run of patch releases that are alike, and none for later ones.
 */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(22, 5, 3)
#define SURGENT_LAYOUT 1 /* 22.05.0 to 22.05.3 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 5, 4) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(22, 5, 11)
#define SURGENT_LAYOUT 2 /* 22.05.4 to 22.05.11 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(23, 2, 2)
#define SURGENT_LAYOUT 3 /* 23.02.0 to 23.02.2 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 3) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(23, 2, 8)
#define SURGENT_LAYOUT 4 /* 23.02.3 to 23.02.8 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(23, 11, 1)
#define SURGENT_LAYOUT 5 /* 23.11.0 to 23.11.1 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 2) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(23, 11, 11)
#define SURGENT_LAYOUT 6 /* 23.11.2 to 23.11.11 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 5, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(24, 5, 8)
#define SURGENT_LAYOUT 7 /* 24.05.0 to 24.05.8 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(24, 11, 0)
#define SURGENT_LAYOUT 8 /* 24.11.0 to 24.11.0 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 1) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(24, 11, 3)
#define SURGENT_LAYOUT 9 /* 24.11.1 to 24.11.3 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 4) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(24, 11, 7)
#define SURGENT_LAYOUT 10 /* 24.11.4 to 24.11.7 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(25, 5, 4)
#define SURGENT_LAYOUT 11 /* 25.05.0 to 25.05.4 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 5) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(25, 5, 8)
#define SURGENT_LAYOUT 12 /* 25.05.5 to 25.05.8 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(25, 11, 7)
#define SURGENT_LAYOUT 13 /* 25.11.0 to 25.11.7 */
#elif SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0) && SLURM_VERSION_NUMBER <= SLURM_VERSION_NUM(26, 5, 3)
#define SURGENT_LAYOUT 14 /* 26.05.0 to 26.05.3 */
#endif

#ifdef SURGENT_LAYOUT
#if SURGENT_LAYOUT == 1
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c1
#elif SURGENT_LAYOUT == 2
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c2
#elif SURGENT_LAYOUT == 3
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c3
#elif SURGENT_LAYOUT == 4
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c4
#elif SURGENT_LAYOUT == 5
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c5
#elif SURGENT_LAYOUT == 6
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c6
#elif SURGENT_LAYOUT == 7
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c7
#elif SURGENT_LAYOUT == 8
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c8
#elif SURGENT_LAYOUT == 9
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c9
#elif SURGENT_LAYOUT == 10
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c10
#elif SURGENT_LAYOUT == 11
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c11
#elif SURGENT_LAYOUT == 12
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c12
#elif SURGENT_LAYOUT == 13
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c13
#elif SURGENT_LAYOUT == 14
#define SURGENT_COLUMN(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14) c14
#endif

SURGENT_SIZE(job_record_t, SURGENT_COLUMN(1048,1048,1080,1080,1120,1120,1136,1144,1152,1160,1160,1160,1208,1288));
SURGENT_AT(job_record_t, account, SURGENT_COLUMN(   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,  32,  32));
SURGENT_AT(job_record_t, admin_comment, SURGENT_COLUMN(  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  40,  40));
SURGENT_AT(job_record_t, array_recs, SURGENT_COLUMN(  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  64,  64,  88,  88));
SURGENT_AT(job_record_t, array_job_id, SURGENT_COLUMN(  48,  48,  48,  48,  48,  48,  48,  48,  48,  48,  56,  56,  80,  80));
SURGENT_AT(job_record_t, array_task_id, SURGENT_COLUMN(  52,  52,  52,  52,  52,  52,  52,  52,  52,  52,  60,  60,  84,  84));
SURGENT_AT(job_record_t, bit_flags, SURGENT_COLUMN( 112, 112, 112, 112, 112, 112, 112, 112, 112, 112, 120, 120, 144, 144));
SURGENT_AT(job_record_t, batch_flag, SURGENT_COLUMN(  88,  88,  88,  88,  88,  88,  88,  88,  88,  88,  96,  96, 120, 120));
SURGENT_AT(job_record_t, comment, SURGENT_COLUMN( 144, 144, 144, 144, 144, 144, 144, 144, 144, 144, 152, 152, 176, 176));
SURGENT_AT(job_record_t, details, SURGENT_COLUMN( 208, 208, 216, 216, 216, 216, 216, 216, 216, 216, 224, 224, 248, 256));
SURGENT_AT(job_record_t, end_time, SURGENT_COLUMN( 224, 224, 232, 232, 232, 232, 232, 232, 232, 232, 240, 240, 264, 272));
SURGENT_AT(job_record_t, gres_list_alloc, SURGENT_COLUMN( 280, 280, 304, 304, 312, 312, 312, 312, 312, 312, 312, 312, 336, 360));
SURGENT_AT(job_record_t, gres_list_req, SURGENT_COLUMN( 264, 264, 288, 288, 296, 296, 296, 296, 296, 296, 296, 296, 320, 344));
SURGENT_AT(job_record_t, group_id, SURGENT_COLUMN( 312, 312, 336, 336, 344, 344, 344, 344, 344, 344, 344, 344, 368, 392));
SURGENT_AT(job_record_t, het_job_id, SURGENT_COLUMN( 328, 328, 352, 352, 360, 360, 360, 360, 360, 360, 360, 360, 384, 408));
SURGENT_AT(job_record_t, het_job_list, SURGENT_COLUMN( 352, 352, 376, 376, 384, 384, 384, 384, 384, 384, 384, 384, 408, 432));
SURGENT_AT(job_record_t, het_job_offset, SURGENT_COLUMN( 344, 344, 368, 368, 376, 376, 376, 376, 376, 376, 376, 376, 400, 424));
SURGENT_AT(job_record_t, job_id, SURGENT_COLUMN( 360, 360, 384, 384, 392, 392, 392, 392, 392, 392, 392, 392, 424, 448));
SURGENT_AT(job_record_t, job_resrcs, SURGENT_COLUMN( 400, 400, 424, 424, 440, 440, 440, 440, 440, 440, 440, 440, 480, 504));
SURGENT_AT(job_record_t, job_state, SURGENT_COLUMN( 408, 408, 432, 432, 448, 448, 448, 448, 448, 448, 448, 448, 488, 512));
SURGENT_AT(job_record_t, licenses, SURGENT_COLUMN( 424, 424, 448, 448, 464, 464, 464, 464, 464, 464, 464, 464, 504, 528));
SURGENT_AT(job_record_t, magic, SURGENT_COLUMN(   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,  24,  24));
SURGENT_AT(job_record_t, name, SURGENT_COLUMN( 488, 488, 520, 520, 536, 536, 536, 536, 544, 544, 552, 552, 592, 616));
SURGENT_AT(job_record_t, part_ptr, SURGENT_COLUMN( 608, 608, 640, 640, 664, 664, 664, 664, 672, 680, 688, 688, 728, 776));
SURGENT_AT(job_record_t, part_ptr_list, SURGENT_COLUMN( 592, 592, 624, 624, 648, 648, 648, 648, 656, 664, 672, 672, 712, 760));
SURGENT_AT(job_record_t, partition, SURGENT_COLUMN( 584, 584, 616, 616, 640, 640, 640, 640, 648, 656, 664, 664, 704, 752));
SURGENT_AT(job_record_t, preempt_time, SURGENT_COLUMN( 632, 632, 664, 664, 688, 688, 688, 688, 696, 704, 712, 712, 752, 808));
SURGENT_AT(job_record_t, priority, SURGENT_COLUMN( 656, 656, 688, 688, 712, 712, 712, 712, 720, 728, 736, 736, 776, 832));
SURGENT_AT(job_record_t, qos_ptr, SURGENT_COLUMN( 688, 688, 720, 720, 760, 760, 752, 760, 768, 776, 784, 784, 824, 880));
SURGENT_AT(job_record_t, restart_cnt, SURGENT_COLUMN( 706, 706, 738, 738, 778, 778, 770, 778, 786, 794, 802, 802, 842, 898));
SURGENT_AT(job_record_t, resv_name, SURGENT_COLUMN( 736, 736, 768, 768, 808, 808, 800, 808, 816, 824, 832, 832, 872, 928));
SURGENT_AT(job_record_t, site_factor, SURGENT_COLUMN( 792, 792, 824, 824, 864, 864, 872, 880, 888, 896, 896, 896, 936, 992));
SURGENT_AT(job_record_t, start_time, SURGENT_COLUMN( 816, 816, 848, 848, 888, 888, 896, 904, 912, 920, 920, 920, 960,1032));
SURGENT_AT(job_record_t, state_reason, SURGENT_COLUMN( 832, 832, 864, 864, 904, 904, 912, 920, 928, 936, 936, 936, 976,1048));
#if SURGENT_LAYOUT >= 13 && SURGENT_LAYOUT <= 14
SURGENT_AT(job_record_t, step_id, SURGENT_COLUMN(  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,  -1,   0,   0));
#endif
SURGENT_AT(job_record_t, time_limit, SURGENT_COLUMN( 872, 872, 904, 904, 944, 944, 960, 968, 976, 984, 984, 984,1024,1104));
SURGENT_AT(job_record_t, tres_per_job, SURGENT_COLUMN( 912, 912, 944, 944, 984, 984,1000,1008,1016,1024,1024,1024,1072,1152));
SURGENT_AT(job_record_t, tres_per_node, SURGENT_COLUMN( 920, 920, 952, 952, 992, 992,1008,1016,1024,1032,1032,1032,1080,1160));
SURGENT_AT(job_record_t, tres_per_socket, SURGENT_COLUMN( 928, 928, 960, 960,1000,1000,1016,1024,1032,1040,1040,1040,1088,1168));
SURGENT_AT(job_record_t, tres_per_task, SURGENT_COLUMN( 936, 936, 968, 968,1008,1008,1024,1032,1040,1048,1048,1048,1096,1176));
SURGENT_AT(job_record_t, user_id, SURGENT_COLUMN( 992, 992,1024,1024,1064,1064,1080,1088,1096,1104,1104,1104,1152,1232));
SURGENT_AT(job_record_t, user_name, SURGENT_COLUMN(1000,1000,1032,1032,1072,1072,1088,1096,1104,1112,1112,1112,1160,1240));
SURGENT_AT(job_record_t, warn_flags, SURGENT_COLUMN(1010,1010,1042,1042,1082,1082,1098,1106,1114,1122,1122,1122,1170,1250));
SURGENT_AT(job_record_t, warn_time, SURGENT_COLUMN(1014,1014,1046,1046,1086,1086,1102,1110,1118,1126,1126,1126,1174,1254));

SURGENT_SIZE(job_details_t, SURGENT_COLUMN( 504, 504, 504, 504, 512, 512, 512, 528, 528, 528, 544, 544, 544, 560));
SURGENT_AT(job_details_t, begin_time, SURGENT_COLUMN(  40,  40,  40,  40,  48,  48,  48,  48,  48,  48,  48,  48,  48,  48));
SURGENT_AT(job_details_t, cpus_per_task, SURGENT_COLUMN(  88,  88,  88,  88,  96,  96,  96,  96,  96,  96,  96,  96,  96,  96));
SURGENT_AT(job_details_t, exc_node_bitmap, SURGENT_COLUMN( 160, 160, 160, 160, 168, 168, 168, 168, 168, 168, 168, 168, 168, 168));
SURGENT_AT(job_details_t, expanding_jobid, SURGENT_COLUMN( 176, 176, 176, 176, 184, 184, 184, 184, 184, 184, 184, 184, 184, 184));
SURGENT_AT(job_details_t, features, SURGENT_COLUMN( 208, 208, 200, 200, 208, 208, 208, 208, 208, 208, 208, 208, 208, 208));
SURGENT_AT(job_details_t, magic, SURGENT_COLUMN(   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0));
SURGENT_AT(job_details_t, max_nodes, SURGENT_COLUMN( 232, 232, 232, 232, 240, 240, 240, 240, 240, 240, 240, 240, 240, 240));
SURGENT_AT(job_details_t, mc_ptr, SURGENT_COLUMN( 240, 240, 240, 240, 248, 248, 248, 248, 248, 248, 248, 248, 248, 248));
SURGENT_AT(job_details_t, min_cpus, SURGENT_COLUMN( 260, 260, 260, 260, 268, 268, 268, 268, 268, 268, 268, 268, 268, 272));
SURGENT_AT(job_details_t, min_nodes, SURGENT_COLUMN( 276, 276, 276, 276, 284, 284, 284, 284, 284, 284, 284, 284, 284, 288));
SURGENT_AT(job_details_t, ntasks_per_node, SURGENT_COLUMN( 284, 284, 284, 284, 292, 292, 292, 292, 292, 292, 292, 292, 292, 296));
SURGENT_AT(job_details_t, num_tasks, SURGENT_COLUMN( 288, 288, 288, 288, 296, 296, 296, 296, 296, 296, 296, 296, 296, 300));
SURGENT_AT(job_details_t, overcommit, SURGENT_COLUMN( 293, 293, 293, 293, 301, 301, 301, 301, 301, 301, 301, 301, 301, 305));
SURGENT_AT(job_details_t, pn_min_cpus, SURGENT_COLUMN( 296, 296, 296, 296, 304, 304, 304, 304, 304, 304, 304, 304, 304, 308));
SURGENT_AT(job_details_t, pn_min_memory, SURGENT_COLUMN( 304, 304, 304, 304, 312, 312, 312, 312, 312, 312, 312, 312, 312, 320));
SURGENT_AT(job_details_t, req_node_bitmap, SURGENT_COLUMN( 352, 352, 352, 352, 360, 360, 360, 376, 376, 376, 376, 376, 376, 392));
SURGENT_AT(job_details_t, requeue, SURGENT_COLUMN( 384, 384, 384, 384, 392, 392, 392, 408, 408, 408, 408, 408, 408, 424));
SURGENT_AT(job_details_t, share_res, SURGENT_COLUMN( 386, 386, 386, 386, 394, 394, 398, 414, 414, 414, 426, 426, 426, 442));
SURGENT_AT(job_details_t, submit_time, SURGENT_COLUMN( 440, 440, 440, 440, 448, 448, 448, 464, 464, 464, 480, 480, 480, 496));
SURGENT_AT(job_details_t, whole_node, SURGENT_COLUMN( 456, 456, 456, 456, 464, 464, 464, 480, 480, 480, 496, 496, 496, 512));

SURGENT_SIZE(job_array_struct_t, SURGENT_COLUMN(  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56));
SURGENT_AT(job_array_struct_t, max_run_tasks, SURGENT_COLUMN(  28,  28,  28,  28,  28,  28,  28,  28,  28,  28,  28,  28,  28,  28));
SURGENT_AT(job_array_struct_t, task_cnt, SURGENT_COLUMN(   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0));
SURGENT_AT(job_array_struct_t, tot_run_tasks, SURGENT_COLUMN(  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32));

SURGENT_SIZE(multi_core_data_t, SURGENT_COLUMN(  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18));
SURGENT_AT(multi_core_data_t, ntasks_per_core, SURGENT_COLUMN(  14,  14,  14,  14,  14,  14,  14,  14,  14,  14,  14,  14,  14,  14));
SURGENT_AT(multi_core_data_t, sockets_per_node, SURGENT_COLUMN(   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4,   4));
SURGENT_AT(multi_core_data_t, threads_per_core, SURGENT_COLUMN(   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8));

SURGENT_SIZE(job_resources_t, SURGENT_COLUMN( 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 168));
SURGENT_AT(job_resources_t, core_bitmap, SURGENT_COLUMN(   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0));
SURGENT_AT(job_resources_t, cpus, SURGENT_COLUMN(  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40));
SURGENT_AT(job_resources_t, memory_allocated, SURGENT_COLUMN(  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72));
SURGENT_AT(job_resources_t, nhosts, SURGENT_COLUMN(  88,  88,  88,  88,  88,  88,  88,  92,  92,  92,  92,  92,  92,  92));
SURGENT_AT(job_resources_t, node_req, SURGENT_COLUMN( 104, 104, 104, 104, 104, 104, 104, 104, 104, 104, 104, 104, 104, 112));
SURGENT_AT(job_resources_t, node_bitmap, SURGENT_COLUMN(  96,  96,  96,  96,  96,  96,  96,  96,  96,  96,  96,  96,  96,  96));
SURGENT_AT(job_resources_t, nodes, SURGENT_COLUMN( 112, 112, 112, 112, 112, 112, 112, 112, 112, 112, 112, 112, 112, 120));
SURGENT_AT(job_resources_t, whole_node, SURGENT_COLUMN( 154, 154, 154, 154, 154, 154, 154, 154, 154, 154, 154, 154, 154, 162));

SURGENT_SIZE(part_record_t, SURGENT_COLUMN( 328, 328, 344, 352, 352, 352, 352, 360, 360, 360, 376, 376, 376, 368));
SURGENT_AT(part_record_t, flags, SURGENT_COLUMN( 144, 144, 160, 168, 168, 168, 168, 168, 168, 168, 168, 168, 168, 168));
SURGENT_AT(part_record_t, magic, SURGENT_COLUMN(   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0));
SURGENT_AT(part_record_t, max_nodes, SURGENT_COLUMN( 176, 176, 192, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200));
SURGENT_AT(part_record_t, max_share, SURGENT_COLUMN( 184, 184, 200, 208, 208, 208, 208, 208, 208, 208, 208, 208, 208, 204));
SURGENT_AT(part_record_t, max_time, SURGENT_COLUMN( 188, 188, 204, 212, 212, 212, 212, 212, 212, 212, 212, 212, 212, 208));
SURGENT_AT(part_record_t, min_nodes, SURGENT_COLUMN( 192, 192, 208, 216, 216, 216, 216, 220, 220, 220, 220, 220, 220, 216));
SURGENT_AT(part_record_t, name, SURGENT_COLUMN( 200, 200, 216, 224, 224, 224, 224, 232, 232, 232, 232, 232, 232, 224));
SURGENT_AT(part_record_t, node_bitmap, SURGENT_COLUMN( 208, 208, 224, 232, 232, 232, 232, 240, 240, 240, 240, 240, 240, 232));

SURGENT_SIZE(slurmctld_resv_t, SURGENT_COLUMN( 296, 296, 304, 304, 312, 312, 304, 304, 304, 304, 312, 312, 352, 352));
SURGENT_AT(slurmctld_resv_t, duration, SURGENT_COLUMN(  88,  88,  96,  96,  96,  96,  96,  96,  96,  96,  96,  96, 112, 112));
SURGENT_AT(slurmctld_resv_t, end_time, SURGENT_COLUMN(  96,  96, 104, 104, 104, 104, 104, 104, 104, 104, 104, 104, 120, 120));
SURGENT_AT(slurmctld_resv_t, flags, SURGENT_COLUMN( 120, 120, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 144, 144));
SURGENT_AT(slurmctld_resv_t, max_start_delay, SURGENT_COLUMN( 160, 160, 168, 168, 176, 176, 176, 176, 176, 176, 176, 176, 192, 192));
SURGENT_AT(slurmctld_resv_t, name, SURGENT_COLUMN( 168, 168, 176, 176, 184, 184, 184, 184, 184, 184, 184, 184, 200, 200));
SURGENT_AT(slurmctld_resv_t, node_bitmap, SURGENT_COLUMN( 176, 176, 184, 184, 192, 192, 192, 192, 192, 192, 192, 192, 208, 208));
SURGENT_AT(slurmctld_resv_t, part_ptr, SURGENT_COLUMN( 208, 208, 216, 216, 224, 224, 224, 224, 224, 224, 224, 224, 240, 240));
SURGENT_AT(slurmctld_resv_t, start_time, SURGENT_COLUMN( 232, 232, 240, 240, 248, 248, 240, 240, 240, 240, 240, 240, 280, 280));
SURGENT_AT(slurmctld_resv_t, start_time_first, SURGENT_COLUMN( 240, 240, 248, 248, 256, 256, 248, 248, 248, 248, 248, 248, 288, 288));

SURGENT_SIZE(slurmdb_qos_rec_t, SURGENT_COLUMN( 328, 328, 328, 328, 336, 336, 336, 336, 336, 336, 336, 336, 336, 344));
SURGENT_AT(slurmdb_qos_rec_t, name, SURGENT_COLUMN( 256, 256, 256, 256, 256, 256, 256, 264, 264, 264, 264, 264, 264, 264));

SURGENT_SIZE(node_record_t, SURGENT_COLUMN( 472, 472, 504, 504, 528, 528, 528, 536, 536, 536, 568, 568, 592, 576));
SURGENT_AT(node_record_t, cpus_efctv, SURGENT_COLUMN( 106, 106, 106, 106, 106, 106, 106, 114, 114, 114, 146, 146, 146, 122));
SURGENT_AT(node_record_t, features, SURGENT_COLUMN( 136, 136, 136, 136, 144, 144, 136, 144, 144, 144, 176, 176, 176, 152));
SURGENT_AT(node_record_t, features_act, SURGENT_COLUMN( 144, 144, 144, 144, 152, 152, 144, 152, 152, 152, 184, 184, 184, 160));
SURGENT_AT(node_record_t, gres_list, SURGENT_COLUMN( 176, 176, 176, 176, 184, 184, 192, 200, 200, 200, 232, 232, 232, 208));
SURGENT_AT(node_record_t, magic, SURGENT_COLUMN( 208, 208, 208, 208, 232, 232, 240, 248, 248, 248, 280, 280, 280, 256));
SURGENT_AT(node_record_t, mem_spec_limit, SURGENT_COLUMN( 224, 224, 224, 224, 248, 248, 256, 264, 264, 264, 296, 296, 296, 272));
SURGENT_AT(node_record_t, name, SURGENT_COLUMN( 232, 232, 232, 232, 256, 256, 264, 272, 272, 272, 304, 304, 304, 280));
SURGENT_AT(node_record_t, node_state, SURGENT_COLUMN( 280, 280, 280, 280, 304, 304, 312, 320, 320, 320, 352, 352, 352, 328));
SURGENT_AT(node_record_t, real_memory, SURGENT_COLUMN( 344, 344, 344, 344, 368, 368, 368, 376, 376, 376, 408, 408, 424, 408));
SURGENT_AT(node_record_t, tot_cores, SURGENT_COLUMN( 448, 448, 480, 480, 504, 504, 504, 512, 512, 512, 544, 544, 568, 552));
SURGENT_AT(node_record_t, tpc, SURGENT_COLUMN( 464, 464, 496, 496, 520, 520, 520, 528, 528, 528, 560, 560, 584, 568));

SURGENT_SIZE(gres_state_t, SURGENT_COLUMN(  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32));
SURGENT_AT(gres_state_t, gres_data, SURGENT_COLUMN(   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8));
SURGENT_AT(gres_state_t, gres_name, SURGENT_COLUMN(  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16));

SURGENT_SIZE(gres_node_state_t, SURGENT_COLUMN( 168, 168, 168, 168, 168, 168, 176, 176, 176, 176, 176, 176, 176, 176));
SURGENT_AT(gres_node_state_t, gres_cnt_avail, SURGENT_COLUMN(  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32));
SURGENT_AT(gres_node_state_t, type_cnt, SURGENT_COLUMN( 128, 128, 128, 128, 128, 128, 136, 136, 136, 136, 136, 136, 136, 136));
SURGENT_AT(gres_node_state_t, type_cnt_avail, SURGENT_COLUMN( 144, 144, 144, 144, 144, 144, 152, 152, 152, 152, 152, 152, 152, 152));
SURGENT_AT(gres_node_state_t, type_name, SURGENT_COLUMN( 160, 160, 160, 160, 160, 160, 168, 168, 168, 168, 168, 168, 168, 168));

SURGENT_SIZE(gres_job_state_t, SURGENT_COLUMN( 152, 152, 152, 152, 176, 176, 192, 192, 192, 192, 192, 192, 192, 192));
SURGENT_AT(gres_job_state_t, cpus_per_gres, SURGENT_COLUMN(  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18,  18));
SURGENT_AT(gres_job_state_t, def_cpus_per_gres, SURGENT_COLUMN(  66,  66,  66,  66,  66,  66,  66,  66,  66,  66,  66,  66,  66,  66));
SURGENT_AT(gres_job_state_t, def_mem_per_gres, SURGENT_COLUMN(  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72,  72));
SURGENT_AT(gres_job_state_t, gres_cnt_node_alloc, SURGENT_COLUMN( 128, 128, 128, 128, 136, 136, 152, 152, 152, 152, 152, 152, 152, 152));
SURGENT_AT(gres_job_state_t, gres_per_job, SURGENT_COLUMN(  24,  24,  24,  24,  24,  24,  24,  24,  24,  24,  24,  24,  24,  24));
SURGENT_AT(gres_job_state_t, gres_per_node, SURGENT_COLUMN(  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32,  32));
SURGENT_AT(gres_job_state_t, gres_per_socket, SURGENT_COLUMN(  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40,  40));
SURGENT_AT(gres_job_state_t, gres_per_task, SURGENT_COLUMN(  48,  48,  48,  48,  48,  48,  48,  48,  48,  48,  48,  48,  48,  48));
SURGENT_AT(gres_job_state_t, mem_per_gres, SURGENT_COLUMN(  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  56));
SURGENT_AT(gres_job_state_t, node_cnt, SURGENT_COLUMN( 112, 112, 112, 112, 120, 120, 136, 136, 136, 136, 136, 136, 136, 136));
SURGENT_AT(gres_job_state_t, type_name, SURGENT_COLUMN(   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8));

SURGENT_SIZE(job_desc_msg_t, SURGENT_COLUMN( 880, 880, 896, 896, 904, 904, 912, 912, 912, 912, 920, 920, 944, 952));
SURGENT_AT(job_desc_msg_t, account, SURGENT_COLUMN(   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0));
SURGENT_AT(job_desc_msg_t, admin_comment, SURGENT_COLUMN(  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16,  16));
SURGENT_AT(job_desc_msg_t, comment, SURGENT_COLUMN( 120, 120, 120, 120, 120, 120, 120, 120, 120, 120, 128, 128, 128, 128));
SURGENT_AT(job_desc_msg_t, array_inx, SURGENT_COLUMN(  56,  56,  56,  56,  56,  56,  56,  56,  56,  56,  64,  64,  64,  64));
SURGENT_AT(job_desc_msg_t, cpus_per_task, SURGENT_COLUMN( 704, 704, 728, 728, 736, 736, 744, 744, 744, 744, 752, 752, 776, 784));
SURGENT_AT(job_desc_msg_t, group_id, SURGENT_COLUMN( 312, 312, 320, 320, 320, 320, 320, 320, 320, 320, 328, 328, 328, 336));
SURGENT_AT(job_desc_msg_t, het_job_offset, SURGENT_COLUMN( 316, 316, 324, 324, 324, 324, 324, 324, 324, 324, 332, 332, 332, 340));
SURGENT_AT(job_desc_msg_t, min_cpus, SURGENT_COLUMN( 708, 708, 732, 732, 740, 740, 748, 748, 748, 748, 756, 756, 780, 788));
SURGENT_AT(job_desc_msg_t, min_nodes, SURGENT_COLUMN( 716, 716, 740, 740, 748, 748, 756, 756, 756, 756, 764, 764, 788, 796));
SURGENT_AT(job_desc_msg_t, ntasks_per_node, SURGENT_COLUMN( 734, 734, 758, 758, 766, 766, 774, 774, 774, 774, 782, 782, 806, 814));
SURGENT_AT(job_desc_msg_t, num_tasks, SURGENT_COLUMN( 420, 420, 444, 444, 452, 452, 452, 452, 452, 452, 460, 460, 460, 468));
SURGENT_AT(job_desc_msg_t, partition, SURGENT_COLUMN( 448, 448, 472, 472, 480, 480, 480, 480, 480, 480, 488, 488, 488, 496));
SURGENT_AT(job_desc_msg_t, priority, SURGENT_COLUMN( 472, 472, 496, 496, 504, 504, 504, 504, 504, 504, 512, 512, 512, 520));
SURGENT_AT(job_desc_msg_t, qos, SURGENT_COLUMN( 480, 480, 504, 504, 512, 512, 512, 512, 512, 512, 520, 520, 520, 528));
SURGENT_AT(job_desc_msg_t, requeue, SURGENT_COLUMN( 520, 520, 544, 544, 552, 552, 552, 552, 552, 552, 560, 560, 560, 568));
SURGENT_AT(job_desc_msg_t, script, SURGENT_COLUMN( 536, 536, 560, 560, 568, 568, 576, 576, 576, 576, 584, 584, 584, 592));
SURGENT_AT(job_desc_msg_t, spank_job_env, SURGENT_COLUMN( 592, 592, 616, 616, 624, 624, 632, 632, 632, 632, 640, 640, 640, 648));
SURGENT_AT(job_desc_msg_t, spank_job_env_size, SURGENT_COLUMN( 600, 600, 624, 624, 632, 632, 640, 640, 640, 640, 648, 648, 648, 656));
SURGENT_AT(job_desc_msg_t, time_limit, SURGENT_COLUMN( 620, 620, 644, 644, 652, 652, 660, 660, 660, 660, 668, 668, 692, 700));
SURGENT_AT(job_desc_msg_t, tres_per_job, SURGENT_COLUMN( 648, 648, 672, 672, 680, 680, 688, 688, 688, 688, 696, 696, 720, 728));
SURGENT_AT(job_desc_msg_t, tres_per_node, SURGENT_COLUMN( 656, 656, 680, 680, 688, 688, 696, 696, 696, 696, 704, 704, 728, 736));
SURGENT_AT(job_desc_msg_t, tres_per_socket, SURGENT_COLUMN( 664, 664, 688, 688, 696, 696, 704, 704, 704, 704, 712, 712, 736, 744));
SURGENT_AT(job_desc_msg_t, tres_per_task, SURGENT_COLUMN( 672, 672, 696, 696, 704, 704, 712, 712, 712, 712, 720, 720, 744, 752));
SURGENT_AT(job_desc_msg_t, user_id, SURGENT_COLUMN( 680, 680, 704, 704, 712, 712, 720, 720, 720, 720, 728, 728, 752, 760));

SURGENT_SIZE(job_queue_rec_t, SURGENT_COLUMN(  56,  48,  48,  48,  48,  48,  48,  56,  56,  56,  56,  56,  56,  56));
SURGENT_AT(job_queue_rec_t, job_ptr, SURGENT_COLUMN(   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8,   8));

SURGENT_SIZE(slurmctld_config_t, SURGENT_COLUMN( 360, 360, 464, 464, 440, 480, 480, 464, 464, 464, 464, 552, 552, 552));
SURGENT_AT(slurmctld_config_t, shutdown_time, SURGENT_COLUMN( 200, 200, 296, 296, 288, 328, 328, 328, 328, 328, 328, 328, 328, 328));
SURGENT_AT(slurmctld_config_t, thread_id_save, SURGENT_COLUMN( 320, 320, 424, 424, 408, 448, 448, 448, 448, 448, 448, 536, 536, 536));

SURGENT_SIZE(slurm_conf_t, SURGENT_COLUMN(1544,1544,1552,1552,1528,1528,1512,1544,1544,1544,1552,1552,1584,1640));
SURGENT_AT(slurm_conf_t, plugindir, SURGENT_COLUMN( 776, 776, 784, 784, 768, 768, 752, 784, 784, 784, 784, 784, 808, 848));
SURGENT_AT(slurm_conf_t, preempt_mode, SURGENT_COLUMN( 812, 812, 820, 820, 804, 804, 772, 804, 804, 804, 804, 804, 828, 868));
SURGENT_AT(slurm_conf_t, priority_type, SURGENT_COLUMN( 872, 872, 888, 888, 872, 872, 840, 872, 872, 872, 872, 872, 896, 936));
#if SURGENT_LAYOUT >= 3 && SURGENT_LAYOUT <= 14
SURGENT_AT(slurm_conf_t, preempt_params, SURGENT_COLUMN(  -1,  -1, 824, 824, 808, 808, 776, 808, 808, 808, 808, 808, 832, 872));
#endif
SURGENT_AT(slurm_conf_t, select_type_param, SURGENT_COLUMN(1136,1136,1152,1152,1128,1128,1096,1128,1128,1128,1136,1136,1160,1200));
SURGENT_AT(slurm_conf_t, slurm_conf, SURGENT_COLUMN(1160,1160,1176,1176,1152,1152,1120,1152,1152,1152,1160,1160,1184,1224));
SURGENT_AT(slurm_conf_t, state_save_location, SURGENT_COLUMN(1368,1368,1368,1368,1344,1344,1312,1344,1344,1344,1352,1352,1376,1432));

#endif
